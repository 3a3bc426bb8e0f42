#include "core/task_file.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "catch.h"
#include "core/expect_error.h"

using namespace kbench;
using kbench::test::error_of;
using kbench::test::Said;

namespace {

std::string shipped(const std::string& name) {
  std::ifstream file(std::string(KBENCH_SOURCE_DIR "/specs/") + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("the shipped task files are read whole") {
  struct Row {
    const char* problem;
    std::size_t tests, benchmarks;
    double test_timeout_s, benchmark_timeout_s;
  };
  for (const Row& row : {Row{"qr_v2", 22, 12, 240, 480}, Row{"eigh_py", 39, 13, 480, 900}}) {
    CAPTURE(row.problem);
    const TaskFile task = parse_task_file(shipped(std::string(row.problem) + ".yaml"), "x.yaml");
    CHECK(task.problem == std::string(row.problem));
    CHECK(task.tests.size() == row.tests);
    CHECK(task.benchmarks.size() == row.benchmarks);
    CHECK(task.test_timeout_s == row.test_timeout_s);
    CHECK(task.benchmark_timeout_s == row.benchmark_timeout_s);
    CHECK(task.ranked_timeout_s == 900.0);
    CHECK(task.tests[0].raw == "batch: 20; n: 32; cond: 1; seed: 53124");
    CHECK(task.tests[0].line == 9);
  }
}

TEST_CASE("the shipped quick start is a shape file") {
  CHECK(parse_spec_text(shipped("quickstart.txt"), "specs/quickstart.txt").size() == 1);
}

TEST_CASE("rows of a public task file are read in file order and in any YAML style") {
  const TaskFile task = parse_task_file(R"(# a comment
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
lang: "py"
description: |
  Any text; with: colons
config:
  main: "eval.py"
templates: {Python: "submission.py"}
gpus: [H200]
milestones: ~
profile_timeout: 3
ranking_by: "geom"
tests:
  - seed: 010
    n: "32"
    batch: 20
    cond: +1
    case: Mixed
  - {n: 1, flag: true, size: [1, 2]}
  - y: (3, 4)
)",
                                        "t.yml");
  REQUIRE(task.tests.size() == 3);
  CHECK(task.benchmarks.empty());
  CHECK_FALSE(task.problem.has_value());
  CHECK_FALSE(task.test_timeout_s.has_value());
  const SpecLine& row = task.tests[0];
  CHECK(row.raw == "seed: 010; n: 32; batch: 20; cond: +1; case: Mixed");
  CHECK(row.line == 15);
  CHECK(std::get<std::int64_t>(row.entries[0].value) == 10);
  CHECK(std::get<std::int64_t>(row.entries[1].value) == 32);
  CHECK(row.entries[1].key == "n");
  CHECK(row.entries[1].line == 16);
  CHECK(row.entries[1].key_column == 5);
  CHECK(row.entries[1].value_column == 8);
  CHECK(row.raw.substr(row.entries[1].value_offset, 2) == "32");
  const SpecLine& flow = task.tests[1];
  CHECK(flow.raw == "n: 1; flag: true; size: [1, 2]");
  CHECK(std::get<bool>(flow.entries[1].value));
  CHECK(std::get<std::vector<std::int64_t>>(flow.entries[2].value).size() == 2);
  CHECK(std::get<std::vector<std::int64_t>>(task.tests[2].entries[0].value)[1] == 4);
}

TEST_CASE("a wrong row of a task file is shown at its place in the file") {
  ProblemInfo problem{};
  problem.name = "qr_v2";
  problem.cases = {"dense"};
  const TaskFile task =
      parse_task_file("tests:\n  - batch: 1\n    n: 2\n    cond: 1\n    seeed: 3\n", "t.yaml");
  CHECK(error_of([&] { make_case(task.tests[0], problem); }).text ==
        "t.yaml:5:5: unknown key `seeed` (keys: batch, n, cond, seed, case); did you mean `seed`?\n"
        "  batch: 1; n: 2; cond: 1; seeed: 3\n"
        "                           ^");
}

TEST_CASE("what YAML libraries disagree on is refused with its position") {
  struct Row {
    const char* text;
    const char* what;
  };
  const std::vector<Row> rows{
      {"tests:\n- {n: 1, n: 2}", "t:2:10: key `n` is repeated"},
      {"tests:\n- {n: 1}\ntests:\n- {n: 2}", "t:3:1: key `tests` is repeated"},
      {"config: {a: 1, a: 2}\ntests:\n- {n: 1}", "t:1:16: key `a` is repeated"},
      {"tests:\n- {n: &x 1}", "t:2:7: an anchor"},
      {"tests:\n- &x {n: 1}\n- *x", "t:2:3: an anchor"},
      {"tests: &x\n- {n: 1, m: *x}", "an anchor"},
      {"tests:\n- {n: *x}", "t:2:"},
      {"tests:\n- {<<: {n: 1}}", "t:2:4: a merge key"},
      {"tests:\n- {n: !!int 1}", "t:2:7: a tag"},
      {"tests:\n- !row {n: 1}", "t:2:3: a tag"},
      {"tests:\n- {n: 1}\n---\ntests:\n- {n: 2}", "a second document"},
      {"tests:\n- {? [1] : 2}", "a key must be a name"},
      {"tests:\n- {~: 2}", "a key must be a name"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const Said said = error_of([&] { parse_task_file(row.text, "t"); });
    CHECK(said.code == 113);
    CHECK_THAT(said.text, StartsWith("t:"));
    CHECK_THAT(said.text, ContainsSubstring(row.what));
  }
}

TEST_CASE("a file that is no task is refused with its position") {
  using namespace std::string_literals;
  struct Row {
    std::string text;
    const char* what;
  };
  const std::vector<Row> rows{
      {"", "t:1:1: no task"},
      {"# nothing\n", "t:1:1: no task"},
      {"- {n: 1}", "t:1:1: no task"},
      {"just words", "t:1:1: no task"},
      {"problem: qr_v2\n", "neither `tests` nor `benchmarks`"},
      {"tests:\n", "t:1:1: `tests` is no list of cases"},
      {"tests: []\n", "t:1:8: `tests` is empty"},
      {"tests:\n- {n: 1}\nbenchmarks: []\n", "t:3:13: `benchmarks` is empty"},
      {"tests: {n: 1}\n", "t:1:8: `tests` is no list of cases"},
      {"tests: 3\n", "t:1:8: `tests` is no list of cases"},
      {"tests:\n- 3\n", "t:2:3: a row of `tests` is no map"},
      {"tests:\n- {}\n", "t:2:3: a row of `tests` is no map"},
      {"tests:\n-\n", "a row of `tests` is no map"},
      {"tests:\n- [n, 1]\n", "t:2:3: a row of `tests` is no map"},
      {"test:\n- {n: 1}\n", "t:1:1: unknown key `test` (keys: problem, tests"},
      {"benchmark:\n- {n: 1}\n", "did you mean `benchmarks`?"},
      {"zzz: 1\ntests:\n- {n: 1}\n", "; remove it"},
      {"tests:\n- {n: }\n", "`n` has no value"},
      {"tests:\n- {n: null}\n", "t:2:7: `n` has no value"},
      {"tests:\n- {n: {a: 1}}\n", "t:2:7: `n` needs a plain value"},
      {"tests:\n- {n: 1.5}\n", "t:2:7: `n`: `.` inside a value"},
      {"tests:\n- {n: 0x10}\n", "t:2:7: `n`: `x` inside a value"},
      {"tests:\n- {n: ''}\n", "t:2:7: `n`: the end of the line where a value is expected"},
      {"tests:\n- {n: \"1; m: 2\"}\n", "t:2:7: `n`: `;` inside a value"},
      {"tests:\n- {seed: 9223372036854775808}\n",
       "t:2:10: `seed`: `9223372036854775808` is out "
       "of range"},
      {"tests:\n- {n: [1, \"2, 3\"]}\n", "t:2:11: `n`: `,` inside a value"},
      {"tests:\n- {n: [1, a]}\n", "`n` lists integers only"},
      {"tests:\n- {\"n: 1; m\": 2}\n", "t:2:4: `n: 1; m` is no key"},
      {"tests:\n- {2: 2}\n", "t:2:4: `2` is no key"},
      {"test_timeout: soon\ntests:\n- {n: 1}\n", "t:1:15: `test_timeout` needs a positive"},
      {"ranked_timeout: 0\ntests:\n- {n: 1}\n", "`ranked_timeout` needs a positive"},
      {"ranking_by: last\ntests:\n- {n: 1}\n", "t:1:13: unknown `ranking_by`"},
      {"problem: 3\ntests:\n- {n: 1}\n", "t:1:10: `problem` needs a name"},
      {"tests:\n- {n: 1\n", "not YAML ("},
      {"tests: [\n\t- x", "not YAML ("},
      {"tests:\n- {n: \0}"s, "t:2:7: byte 0x00 is not text"},
      {"tests:\n- {n: \xFF}", "t:2:7: byte 0xff is not text"},
      {std::string(1000, '['), "nested too deeply"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const Said said = error_of([&] { parse_task_file(row.text, "t"); });
    CHECK(said.code == 113);
    CHECK_THAT(said.text, StartsWith("t:"));
    CHECK_THAT(said.text, ContainsSubstring(row.what));
    CHECK_THAT(said.text, !ContainsSubstring("\n"));
  }
}

TEST_CASE("an alias bomb is refused at its first anchor") {
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 30; ++i) bomb += fmt::format("a{0}: &a{0} [*a{1}, *a{1}]\n", i, i - 1);
  CHECK_THAT(error_of([&] { parse_task_file(bomb, "t"); }).text, StartsWith("t:1:5: an anchor"));
}

TEST_CASE("a task file is told from a shape file by its name or its first key") {
  struct Row {
    const char *text, *path;
    bool is_task;
  };
  for (const Row& row : {
           Row{"n: 1", "a.yaml", true},
           Row{"n: 1", "a.yml", true},
           Row{"n: 1", "a.txt", false},
           Row{"batch: 20; n: 32", "yaml", false},
           Row{"\n# hello\n\ntests:\n", "a", true},
           Row{"benchmarks: []", "a", true},
           Row{"lang: py\n", "/dev/fd/3", true},
           Row{"---\ntests:\n", "a", true},
           Row{"test: 3", "a", false},
           Row{"tests", "a", false},
           Row{"", "a", false},
           Row{"# only\n", "a", false},
       }) {
    CAPTURE(row.text, row.path);
    CHECK(looks_like_task_file(row.text, row.path) == row.is_task);
  }
}
