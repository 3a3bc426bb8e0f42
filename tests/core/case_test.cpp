#include <limits>

#include "catch.h"
#include "core/expect_error.h"
#include "core/spec.h"

using namespace kbench;
using kbench::test::error_of;
using kbench::test::Said;

namespace {

ProblemInfo problem() {
  ProblemInfo info{};
  info.name = "qr_v2";
  info.cases = {"dense", "upper", "rankdef", "nearrank"};
  return info;
}

Case case_of(const std::string& text) {
  return make_case(parse_spec_line(text, "s.txt", 4), problem());
}

}  // namespace

TEST_CASE("a full line becomes a case") {
  const Case plain = case_of("batch: 20; n: 32; cond: 1; seed: 43214");
  CHECK(plain.problem == "qr_v2");
  CHECK(plain.spec == "batch: 20; n: 32; cond: 1; seed: 43214");
  CHECK(plain.batch == 20);
  CHECK(plain.n == 32);
  CHECK(plain.cond == 1);
  CHECK(plain.seed == 43214);
  CHECK(plain.kind == "dense");
  const Case least = case_of("seed:0;cond:0;n:1;batch:1;case:RankDef");
  CHECK(least.batch == 1);
  CHECK(least.n == 1);
  CHECK(least.cond == 0);
  CHECK(least.seed == 0);
  CHECK(least.kind == "rankdef");
  CHECK(case_of("batch: 1; n: 1; cond: 0; seed: 9223372036854775807").seed ==
        std::numeric_limits<std::int64_t>::max());
  CHECK(case_of("batch: 1; n: 1073741824; cond: 0; seed: 0").n == 1073741824);
}

TEST_CASE("a line that makes no case says why and where") {
  struct Row {
    const char* text;
    const char* what;
  };
  const std::vector<Row> rows{
      {"batch: 1; n: 2; cond: 1; seeed: 3",
       "s.txt:4:26: unknown key `seeed` (keys: batch, n, cond, seed, case); did you mean `seed`?"},
      {"Batch: 1; n: 2; cond: 1; seed: 3",
       "s.txt:4:1: unknown key `Batch` (keys: batch, n, cond, "
       "seed, case); did you mean `batch`?"},
      {"batch: 1; m: 2; cond: 1; seed: 3",
       "s.txt:4:11: unknown key `m` (keys: batch, n, cond, seed, case); remove it"},
      {"batch: 1; n: 2; seed: 3", "s.txt:4:1: key `cond` is missing"},
      {"n: 2; cond: 1; seed: 3", "s.txt:4:1: key `batch` is missing"},
      {"batch: 1; cond: 1; seed: 3", "s.txt:4:1: key `n` is missing"},
      {"batch: 1; n: 2; cond: 1", "s.txt:4:1: key `seed` is missing"},
      {"batch: 0; n: 2; cond: 1; seed: 3", "s.txt:4:8: `batch: 0` is too small (the least is 1)"},
      {"batch: 1; n: -2; cond: 1; seed: 3", "s.txt:4:14: `n: -2` is too small (the least is 1)"},
      {"batch: 1; n: 2; cond: -1; seed: 3", "s.txt:4:23: `cond: -1` is too small (the least is 0)"},
      {"batch: 1; n: 2; cond: 1; seed: -3", "s.txt:4:32: `seed: -3` is too small (the least is 0)"},
      {"batch: [1, 2]; n: 2; cond: 1; seed: 3", "s.txt:4:8: `batch` needs an integer (got a list)"},
      {"batch: 1; n: True; cond: 1; seed: 3", "s.txt:4:14: `n` needs an integer (got True)"},
      {"batch: 1; n: 2; cond: high; seed: 3",
       "s.txt:4:23: `cond` needs an integer (got the name `high`)"},
      {"batch: 1; n: 2; cond: 1; seed: 3; case: rankdeff",
       "s.txt:4:41: unknown case `rankdeff` of qr_v2; did you mean `rankdef`?"},
      {"batch: 1; n: 2; cond: 1; seed: 3; case: psd",
       "s.txt:4:41: unknown case `psd` of qr_v2; write one of: dense, upper, rankdef, nearrank"},
      {"batch: 1; n: 2; cond: 1; seed: 3; case: 7",
       "s.txt:4:41: `case` needs a name (got the integer `7`)"},
      {"batch: 1; n: 2; cond: 1; seed: 3; case: True",
       "s.txt:4:41: `case` needs a name (got True)"},
      {"batch: 2; n: 1073741824; cond: 1; seed: 3",
       "s.txt:4:8: `batch: 2; n: 1073741824` is too "
       "large"},
      {"batch: 1; n: 1073741825; cond: 1; seed: 3",
       "s.txt:4:14: `batch: 1; n: 1073741825` is too "
       "large"},
      {"batch: 9223372036854775807; n: 9223372036854775807; cond: 1; seed: 3", "is too large"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const Said said = error_of([&] { case_of(row.text); });
    CHECK(said.code == 113);
    CHECK_THAT(said.text.substr(0, said.text.find('\n')), ContainsSubstring(row.what));
    CHECK_THAT(said.text, ContainsSubstring(std::string("\n  ") + row.text + "\n"));
  }
}

TEST_CASE("keys repeated in a line built by hand are refused as well") {
  SpecLine line = parse_spec_line("batch: 1; n: 2; cond: 1; seed: 3", "s.txt", 1);
  line.entries.push_back(line.entries[1]);
  CHECK_THAT(error_of([&] { make_case(line, problem()); }).text,
             ContainsSubstring("key `n` is repeated"));
}

TEST_CASE("a problem knows a file when it knows every case name in it") {
  struct Row {
    const char* text;
    bool known;
  };
  for (const Row& row :
       {Row{"n: 1\nn: 2; case: UPPER", true}, Row{"n: 1; case: psd", false},
        Row{"n: 1; case: dense\nn: 1; case: psd", false}, Row{"n: 1; case: [1]", false}}) {
    CAPTURE(row.text);
    CHECK(knows_all_cases(problem(), parse_spec_text(row.text, "a")) == row.known);
  }
  ProblemInfo without_dense = problem();
  without_dense.cases = {"upper"};
  CHECK_FALSE(knows_all_cases(without_dense, parse_spec_text("n: 1", "a")));
}

TEST_CASE("a line of a free-form problem is any integers, each key once") {
  ProblemInfo info{};
  info.name = "free";
  info.free_form = true;
  const auto make = [&](const std::string& text) {
    return make_case(parse_spec_line(text, "s.txt", 4), info);
  };
  const Case spec = make("m: 4096; batch: 2; k: -1");
  CHECK(spec.batch == 1);
  CHECK(spec.n == 0);
  REQUIRE(spec.parameters.size() == 3);
  CHECK(spec.parameters[0].name == "m");
  CHECK(spec.parameters[0].value == 4096);
  CHECK(spec.parameters[1].name == "batch");
  CHECK(spec.parameters[2].value == -1);
  CHECK_THAT(error_of([&] { make("m: 1; m: 2"); }).text,
             StartsWith("s.txt:4:7: key `m` is repeated; keep one of the two"));
  CHECK_THAT(error_of([&] { make("m: fast"); }).text,
             StartsWith("s.txt:4:4: `m` needs an integer (got the name `fast`; problem free takes "
                        "nothing else); write one number"));
}
