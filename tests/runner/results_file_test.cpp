// Results documents read back, and two of them compared.
#include "runner/results_file.h"

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>

#include "catch.h"
#include "kbench_process.h"
#include "result_files.h"
#include "runner/compare_files.h"

using namespace kbench;
using namespace kbench::test;

namespace {

RunRecord run_of(double first_ns, double second_ns) {
  return some_run(
      {measured_case(32, samples_around(first_ns)), measured_case(64, samples_around(second_ns))});
}

std::string thrown_by(const std::function<void()>& function) {
  try {
    function();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    return error.what();
  }
  return "(nothing thrown)";
}

}  // namespace

TEST_CASE("a results document comes back with its figures") {
  RunRecord record = run_of(1000.25, 2e6);
  record.cases[1].reply.residuals[0].value = std::numeric_limits<double>::quiet_NaN();
  const ResultsFile file = read_back(record);
  CHECK(file.mode == "benchmark");
  CHECK(file.command_line == record.command_line);
  CHECK(file.machine.hostname == "bench");
  CHECK(file.machine.cores == 16);
  REQUIRE(file.device);
  CHECK(file.device->uuid == "GPU-1");
  CHECK(file.device->flush_bytes == 268435456);
  REQUIRE(file.cases.size() == 2);
  const ResultCase& row = file.cases[0];
  CHECK(row.samples_ns == record.cases[0].reply.samples_ns);
  CHECK(row.median_ns == record.cases[0].summary->median);
  CHECK(row.mean_ns == record.cases[0].summary->mean);
  CHECK(row.residuals[0].gate == 20);
  CHECK(row.residuals[1].gate == 0);
  CHECK(row.floor_ns == 125);
  CHECK(row.copy_bytes_per_s == 4e12);
  CHECK(row.flops == 1e9);
  CHECK(row.kernel == "blocked");
  CHECK(std::isnan(file.cases[1].residuals[0].value));
}

TEST_CASE("documents that kbench wrote before some keys existed are read") {
  const std::filesystem::path folder =
      std::filesystem::path(KBENCH_SOURCE_DIR) / "docs/measurements/2026-11-30-h200";
  const ResultsFile file = read_results((folder / "blocked-qr_v2.json").string(), {});
  REQUIRE(file.cases.size() == 12);
  CHECK(file.device->name == "NVIDIA H200");
  CHECK(file.cases[3].samples_ns.size() == 8);
  CHECK(file.cases[3].residuals[0].gate == 0);
  CHECK(file.cases[3].flops == 0);
}

TEST_CASE("what is no results document is refused with its name") {
  const std::string good = json_document(run_of(1000, 2000));
  CHECK_THAT(thrown_by([] { parse_results("{", "a.json"); }),
             StartsWith("`a.json` is no results document ("));
  CHECK_THAT(thrown_by([] { parse_results("[]", "a.json"); }),
             ContainsSubstring("its schema is not `kbench.results/1`"));
  std::string other = good;
  other.replace(other.find("results/1"), 9, "results/2");
  CHECK_THAT(thrown_by([&] { parse_results(other, "a.json"); }),
             ContainsSubstring("its schema is"));
  std::string lacking = good;
  lacking.replace(lacking.find("\"samples_ns\""), 12, "\"sample_ns\" ");
  CHECK_THAT(thrown_by([&] { parse_results(lacking, "a.json"); }),
             ContainsSubstring("there is no key `samples_ns`"));
  CHECK_THAT(thrown_by([] { read_results("/nowhere/a.json", {}); }),
             StartsWith("cannot read the results `/nowhere/a.json`"));
}

TEST_CASE("two files compare by the ratio of their medians") {
  const ResultsFile before = read_back(run_of(1000, 4000), "old.json");
  const ResultsFile after = read_back(run_of(500, 4000), "new.json");
  CHECK(differences(before, after).empty());
  const ComparisonRecord record = compare_results(before, after, 0.01);
  REQUIRE(record.cases.size() == 2);
  CHECK(std::abs(record.cases[0].ratios[0].ratio.value - 0.5) < 1e-9);
  CHECK(record.cases[0].ratios[0].verdict == RatioVerdict::faster);
  CHECK(record.cases[1].ratios[0].verdict == RatioVerdict::same);
  REQUIRE(record.means.size() == 1);
  CHECK(std::abs(record.means[0].ratios[0].ratio.value - std::sqrt(0.5)) < 1e-9);
  CHECK(record.means[0].ratios[0].verdict == RatioVerdict::faster);
}

TEST_CASE("the interval of a quotient holds the quotient of all medians in their intervals") {
  const std::vector<double> before = samples_around(1000), after = samples_around(1100);
  const double level = 0.99;
  const Ratio ratio = ratio_of_runs(before, after, level);
  REQUIRE(ratio.interval);
  const auto a = median_interval(before, each_of_two(level));
  const auto b = median_interval(after, each_of_two(level));
  CHECK(ratio.interval->low == b->low / a->high);
  CHECK(ratio.interval->high == b->high / a->low);
  CHECK(!ratio_of_runs({1, 2, 3}, after, level).interval);
}

TEST_CASE("each thing that must be the same is named when it is not") {
  struct Row {
    std::string words;
    std::function<void(RunRecord&)> change;
  };
  const Row rows[] = {
      {"device (`cuda NVIDIA H200 GPU-1` and `cuda NVIDIA B200 GPU-1`)",
       [](RunRecord& r) { r.device->name = "NVIDIA B200"; }},
      {"device (`cuda NVIDIA H200 GPU-1` and `cuda NVIDIA H200 GPU-2`)",
       [](RunRecord& r) { r.device->uuid = "GPU-2"; }},
      {"driver (`580.1` and `590.2`)", [](RunRecord& r) { r.device->driver = "590.2"; }},
      {"clock (`cuda_event` and `cupti`)", [](RunRecord& r) { r.device->clock = "cupti"; }},
      {"flush (`268435456 bytes` and `1 bytes`)", [](RunRecord& r) { r.device->flush_bytes = 1; }},
      {"flush (`268435456 bytes` and `268435456 bytes, --flush cold`)",
       [](RunRecord& r) { r.not_comparable = "--repeats 9; --flush cold; --input"; }},
      {"mode (`benchmark` and `leaderboard`)",
       [](RunRecord& r) { r.mode = find_mode("leaderboard"); }},
      {"warm-up (`on` and `off`)", [](RunRecord& r) { r.warm_up = false; }},
      {"profiler (`none` and `nsys`)", [](RunRecord& r) { r.profiler = "nsys"; }},
      {"inputs (`also qr_v2: batch 20, n 32, cond 1, seed 43214, dense` and `also qr_v2: batch 20, "
       "n 32, cond 1, seed 7, dense`)",
       [](RunRecord& r) { r.cases[0].spec.seed = 7; }},
      {"inputs of case 1 (`50 a repeat, fresh: on` and `50 a repeat, fresh: off`)",
       [](RunRecord& r) { r.cases[1].fresh_inputs = "off"; }},
      {"inputs of case 0 (`50 a repeat, fresh: on` and `1 a repeat, fresh: on`)",
       [](RunRecord& r) { r.cases[0].reply.calls_per_repeat = 1; }},
  };
  const ResultsFile before = read_back(run_of(1000, 2000));
  for (const Row& row : rows) {
    RunRecord changed = run_of(1000, 2000);
    row.change(changed);
    CHECK(differences(before, read_back(changed)) == std::vector<std::string>{row.words});
  }
}

TEST_CASE("cases are matched by what they are, twice the same one in order") {
  const ResultsFile before =
      read_back(some_run({measured_case(32, {1}), measured_case(64, {2}), measured_case(32, {3})}));
  const ResultsFile after =
      read_back(some_run({measured_case(64, {4}), measured_case(32, {5}), measured_case(32, {6})}));
  using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;
  CHECK(matching_cases(before, after) == Pairs{{0, 1}, {1, 0}, {2, 2}});
}

TEST_CASE("compare of files prints a line a case, refuses what differs, and --force goes on") {
  const Tree tree;
  RunRecord slower = run_of(1200, 2000);
  const std::string old_path = tree.write("old.json", json_document(run_of(1000, 2000)));
  const std::string new_path = tree.write("new.json", json_document(slower));
  slower.device->driver = "590.2";
  slower.cases.push_back(failed_case(128, "segfault"));
  const std::string other_path = tree.write("other.json", json_document(slower));
  struct Row {
    std::vector<std::string> arguments;
    int status;
    std::string out, err;
  };
  const Row rows[] = {
      {{old_path, new_path}, 0, "slower (1.2x)", ""},
      {{old_path, new_path}, 0, "0 faster, 1 slower, 1 same, 0 undecided\n", ""},
      {{old_path, new_path, "--fail-if-slower", "5"}, 112, "slower (1.2x)", ""},
      {{new_path, old_path, "--fail-if-slower", "5"}, 0, "faster (1.2x)", ""},
      {{old_path, other_path}, 2, "", "they differ in driver (`580.1` and `590.2`); inputs"},
      {{old_path, other_path, "--force"}, 0, "slower (1.2x)", "--force: they differ in driver"},
      {{old_path, "lapack"}, 2, "", "takes kernels, or two results documents"},
      {{old_path, new_path, other_path}, 2, "", "takes kernels, or two results documents"},
      {{old_path, tree.path("none.json")}, 2, "", "cannot read the results"},
      {{old_path, new_path, "--json", old_path}, 2, "", "it is the results document"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.arguments);
    std::vector<std::string> arguments = row.arguments;
    arguments.insert(arguments.begin(), "compare");
    const Outcome outcome = kbench_run(tree, arguments);
    CHECK(outcome.status == row.status);
    CHECK_THAT(outcome.out, ContainsSubstring(row.out));
    CHECK_THAT(outcome.err, ContainsSubstring(row.err));
  }
}

TEST_CASE("a figure that no run has is refused, and a time that is none in a failed case is not") {
  struct Row {
    std::string words;
    std::function<void(CaseRecord&)> change;
  };
  const double nan = std::nan("");
  const Row rows[] = {
      {"`samples_ns` is -5", [](CaseRecord& r) { r.reply.samples_ns[1] = -5; }},
      {"`samples_ns` is nan", [&](CaseRecord& r) { r.reply.samples_ns[1] = nan; }},
      {"`mean` is nan", [&](CaseRecord& r) { r.summary->mean = nan; }},
      {"`median` is 0", [](CaseRecord& r) { r.summary->median = 0; }},
      {"`err` is -1", [](CaseRecord& r) { r.summary->err = -1; }},
      {"`floor_ns` is -1", [](CaseRecord& r) { r.reply.floor_ns = -1; }},
      {"`flops` is -2", [](CaseRecord& r) { r.flops = -2; }},
      {"`batch` is -20", [](CaseRecord& r) { r.spec.batch = -20; }},
  };
  for (const Row& row : rows) {
    RunRecord changed = run_of(1000, 2000);
    row.change(changed.cases[0]);
    CHECK_THAT(
        thrown_by([&] { read_back(changed, "new.json"); }),
        StartsWith("`new.json` is no results document (" + row.words + ", which cannot be)"));
  }
  RunRecord failed = run_of(1000, 2000);
  failed.cases[0].passed = false;
  failed.cases[0].summary.reset();
  failed.cases[0].reply.samples_ns[1] = nan;
  CHECK(read_back(failed).cases[0].status == "fail");
}

TEST_CASE("compare says which of its files is of a run that did not come to its end") {
  const Tree tree;
  RunRecord broken = run_of(1000, 2000);
  broken.finished = false;
  broken.cases[1].ended = broken.cases[1].passed = false;
  broken.cases[1].summary.reset();
  broken.cases[1].reply = Reply{};
  const std::string whole = tree.write("whole.json", json_document(run_of(1000, 2000)));
  const std::string part = tree.write("part.json", json_document(broken));
  const std::string words =
      "is of a run that did not come to its end; only what it has is compared\n";
  const Outcome outcome = kbench_run(tree, {"compare", whole, part});
  CHECK(outcome.status == 0);
  CHECK(outcome.err == "`" + part + "` " + words);
  CHECK_THAT(outcome.out, ContainsSubstring("not run"));
  CHECK(kbench_run(tree, {"compare", whole, whole}).err.empty());
}
