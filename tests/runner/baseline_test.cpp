// `--baseline`: the ratio to a former run in every output, and what is no baseline.
#include "runner/baseline.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "kbench_process.h"
#include "result_files.h"

using namespace kbench;
using namespace kbench::test;
using Json = nlohmann::json;

namespace {

constexpr const char* k_first = "batch: 2; n: 4; cond: 1; seed: 5\n";
constexpr const char* k_second = "batch: 3; n: 4; cond: 1; seed: 6\n";

/// A run of two cases with the ratios to its baseline.
RunRecord compared_run() {
  RunRecord record =
      some_run({measured_case(32, samples_around(500)), measured_case(64, samples_around(2000))});
  record.baseline = "old.json";
  record.cases[0].over_baseline = Ratio{0.5, Interval{0.49, 0.51}};
  record.cases[1].over_baseline = Ratio{2, Interval{1.98, 2.04}};
  return record;
}

std::string table_of(const RunRecord& record) {
  const TableLayout layout = table_layout(record, {});
  std::string text = table_heading(record, 0, layout);
  for (std::size_t i = 0; i < record.cases.size(); ++i) text += table_row(record, i, layout);
  return text + table_footer(record, layout);
}

/// Runs `arguments` after a first run of `cases` whose samples are made twice as long.
struct Comparison {
  Tree tree;
  std::string old_path = tree.path("old.json");

  explicit Comparison(const std::string& cases) {
    const std::string file = tree.write("old.txt", cases);
    REQUIRE(
        kbench_run(tree, {"benchmark", file, "--problem", "qr_v2", "--json", old_path}).status ==
        0);
    Json document = Json::parse(tree.read("old.json"));
    for (Json& row : document["cases"]) row["samples_ns"] = {2000, 2500, 3000};
    tree.write("old.json", document.dump());
  }

  Outcome run(const std::string& cases, std::vector<std::string> arguments) const {
    const std::vector<std::string> first = {tree.write("new.txt", cases), "--problem", "qr_v2",
                                            "--baseline", old_path};
    arguments.insert(arguments.end(), first.begin(), first.end());
    return kbench_run(tree, arguments);
  }
};

}  // namespace

TEST_CASE("the ratio to the baseline stands in table, JSON, CSV and Markdown") {
  const RunRecord record = compared_run();
  const std::string table = table_of(record);
  CHECK_THAT(table, ContainsSubstring("  res/gate         over baseline\n"));
  CHECK_THAT(table, ContainsSubstring("  0.500 [0.490, 0.510]\n"));
  // The root of 0.5 * 2, with bounds that are the roots of the products of the bounds.
  CHECK_THAT(table,
             ContainsSubstring("geometric mean of qr_v2: 1000 ns; over baseline 1.000 [0.985, "
                               "1.020]\n"));
  const Json json = Json::parse(json_document(record));
  CHECK(json["baseline"] == "old.json");
  CHECK(json["cases"][1]["over_baseline"] ==
        Json::parse(R"({"ratio": 2.0, "interval": [1.98, 2.04]})"));
  CHECK(std::abs(json["problems"][0]["over_baseline"]["ratio"].get<double>() - 1) < 1e-12);
  CHECK_THAT(csv_document(record),
             ContainsSubstring(",over_baseline,over_baseline_low,over_baseline_high,"));
  CHECK_THAT(csv_document(record), ContainsSubstring(",0.5,0.49,0.51,"));
  const std::string markdown = markdown_document(record);
  CHECK_THAT(markdown, ContainsSubstring(" over baseline |\n"));
  CHECK_THAT(markdown, ContainsSubstring(" 0.500 [0.490, 0.510] |\n"));
  CHECK_THAT(markdown, ContainsSubstring("; over baseline 1.000 \\[0.985, 1.020\\]\n"));
  CHECK(read_back(record).cases[0].over_baseline->interval->high == 0.51);
}

TEST_CASE("without a baseline there is no column, and without all ratios no mean of them") {
  RunRecord record = compared_run();
  record.cases[1].over_baseline.reset();
  CHECK_THAT(table_of(record), !ContainsSubstring("; over baseline"));
  CHECK_THAT(table_of(record), ContainsSubstring("                     -\n"));
  CHECK(Json::parse(json_document(record))["problems"][0]["over_baseline"].is_null());
  record.baseline.clear();
  CHECK_THAT(table_of(record), !ContainsSubstring("over baseline"));
}

TEST_CASE("a terminal that is too narrow for the ratios breaks their lines") {
  const RunRecord record = compared_run();
  const TableLayout layout = table_layout(record, {100, false});
  std::string text = table_row(record, 0, layout);
  CHECK_THAT(text, ContainsSubstring("0.500 [0.490, 0.510]"));
  for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
    CHECK(width_of(text.substr(0, end)) <= 100);
  }
}

TEST_CASE("a case has a ratio when both runs measured it") {
  CaseRecord no_time = measured_case(128, {1000, std::numeric_limits<double>::quiet_NaN()});
  no_time.passed = false;
  no_time.summary.reset();
  RunRecord old =
      some_run({measured_case(32, samples_around(1000)), failed_case(64, "wrong"), no_time});
  RunRecord now = some_run({measured_case(256, samples_around(500)), measured_case(64, {500}),
                            measured_case(128, {500, 500}), measured_case(32, samples_around(500)),
                            failed_case(32, "wrong")});
  const ResultsFile file = read_back(old);
  const Baseline baseline(file, now, true);
  CHECK(baseline.differences().empty());
  for (const std::size_t i : {0u, 1u, 2u, 4u}) CHECK_FALSE(baseline.ratio(i, now.cases[i]));
  const auto ratio = baseline.ratio(3, now.cases[3]);
  REQUIRE(ratio);
  CHECK(std::abs(ratio->value - 0.5) < 1e-9);
  CHECK(ratio->interval);
}

TEST_CASE("a run shows the ratios to its baseline and one case without") {
  const Comparison comparison(k_first);
  const Outcome outcome = comparison.run(std::string(k_first) + k_second,
                                         {"benchmark", "--json", comparison.tree.path("new.json")});
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.out, StartsWith("baseline: " + comparison.old_path +
                                     " (ratio of medians, below 1 is faster than there)\n"));
  CHECK_THAT(outcome.out, ContainsSubstring("         0.5 (too few)\n"));
  const Json json = Json::parse(comparison.tree.read("new.json"));
  CHECK(json["cases"][0]["over_baseline"]["ratio"] == 0.5);
  CHECK(json["cases"][0]["over_baseline"]["interval"].is_null());
  CHECK(json["cases"][1]["over_baseline"].is_null());
}

TEST_CASE("what is no baseline of the run is refused with the differences unless forced") {
  const Comparison comparison(k_first);
  struct Row {
    std::vector<std::string> arguments;
    std::string cases, words;
  };
  const std::vector<Row> rows = {
      {{"leaderboard"},
       k_first,
       "they differ in mode (`benchmark` and `leaderboard`)); repeat one"},
      {{"benchmark", "--no-warmup"}, k_first, "they differ in warm-up (`on` and `off`)"},
      {{"benchmark", "--fresh-inputs", "off"}, k_first, "fresh inputs (`on` and `off`)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.words);
    const Outcome refused = comparison.run(row.cases, row.arguments);
    CHECK(refused.status == 2);
    CHECK(refused.out.empty());
    CHECK_THAT(refused.err, ContainsSubstring("is no baseline of this run (they differ in "));
    CHECK_THAT(refused.err, ContainsSubstring(row.words));
    std::vector<std::string> forced = row.arguments;
    forced.push_back("--force");
    const Outcome outcome = comparison.run(row.cases, forced);
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.err, ContainsSubstring("--force: they differ in "));
    CHECK_THAT(outcome.out, ContainsSubstring("0.5 (too few)"));
  }
  const Outcome none = comparison.run(k_second, {"benchmark", "--force"});
  CHECK(none.status == 2);
  CHECK_THAT(none.err, ContainsSubstring("and this run have no case in common"));
  const Outcome over = comparison.run(k_first, {"benchmark", "--json", comparison.old_path});
  CHECK(over.status == 2);
  CHECK_THAT(over.err, ContainsSubstring("it is the baseline"));
}
