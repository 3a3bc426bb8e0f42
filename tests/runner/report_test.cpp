// The HTML report as text: what is on it, and that nothing in a result becomes markup.
#include <algorithm>
#include <cmath>
#include <limits>

#include "catch.h"
#include "kbench_process.h"
#include "result_files.h"
#include "runner/report_charts.h"
#include "runner/report_page.h"
#include "runner/svg.h"

using namespace kbench;
using namespace kbench::test;

namespace {

std::string page_of(const std::vector<RunRecord>& runs) {
  std::vector<ResultsFile> files;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    files.push_back(read_back(runs[k], "run" + std::to_string(k) + ".json"));
  }
  return report_page(files, {}, 0.01);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

}  // namespace

TEST_CASE("the page has every case, its figures in full, its charts and its failure") {
  RunRecord run = some_run(
      {measured_case(32, samples_around(1234.5)), failed_case(64, "factor: matrix 3: 7 > 2")});
  const std::string page = page_of({run});
  CHECK(count(page, "<section class=\"case\"") == 2);
  CHECK(count(page, "<tr data-file=\"0\"") == 2);
  CHECK_THAT(page, ContainsSubstring("data-median-ns=\"1234.5\""));
  CHECK_THAT(page, ContainsSubstring("factor: matrix 3: 7 &gt; 2"));
  CHECK_THAT(page, ContainsSubstring("kbench benchmark shape.txt"));
  CHECK_THAT(page, ContainsSubstring("NVIDIA H200 (cuda:0), driver 580.1"));
  CHECK_THAT(page, ContainsSubstring("0.25 of 20"));
  CHECK_THAT(page, ContainsSubstring("half of an empty launch"));
  // Samples, residuals and the roofline.
  CHECK(count(page, "<svg") == 3);
  CHECK_THAT(page, ContainsSubstring("Slope: 4000 GB/s"));
}

TEST_CASE("several files have their ratios and what differs between them") {
  RunRecord slower = some_run({measured_case(32, samples_around(2000))});
  slower.device->driver = "590.2";
  const std::string page = page_of({some_run({measured_case(32, samples_around(1000))}), slower});
  CHECK_THAT(page, ContainsSubstring("<h2>B over A</h2>"));
  CHECK_THAT(page, ContainsSubstring("data-ratio=\"2\""));
  CHECK_THAT(page, ContainsSubstring("slower (2x)"));
  CHECK_THAT(page, ContainsSubstring("not the same in both: driver (`580.1` and `590.2`)"));
}

TEST_CASE("no text of a result becomes markup, and the page loads nothing") {
  const std::string hostile = "\"><script>alert(1)</script><img src=x onerror='alert(2)'>&";
  RunRecord run = some_run({measured_case(32, samples_around(1000)), failed_case(64, hostile)});
  run.cases[0].kernel.name = hostile;
  run.cases[0].spec.spec = hostile;
  run.cases[0].reply.residuals[0].name = hostile;
  run.cases[0].reply.floor_reason = hostile;
  run.machine.hostname = hostile;
  run.command_line = {hostile};
  run.device->name = hostile;
  run.tags = {{"key", hostile}};
  const std::string page = page_of({run});
  CHECK(count(page, "<script") == 0);
  CHECK(count(page, "<img") == 0);
  CHECK(count(page, "http") == 1);  // of `http-equiv`
  CHECK_THAT(page, ContainsSubstring("default-src 'none'"));
}

TEST_CASE("charts stand figures that are no numbers, and runs without any") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  ResultCase row;
  CHECK(samples_chart(row).empty());
  CHECK(residuals_chart(row).empty());
  CHECK(roofline_chart({}, {}).empty());
  row.samples_ns = {1, nan};
  CHECK(samples_chart(row).empty());
  row.samples_ns = {5};
  CHECK_THAT(samples_chart(row), StartsWith("<svg"));
  for (const double value : {nan, inf, 0.0, 1e300}) {
    row.residuals = {{"scaled_factor_residual", value, 20}};
    const std::string chart = residuals_chart(row);
    CHECK_THAT(chart, StartsWith("<svg"));
    CHECK(count(chart, "\"nan\"") + count(chart, "\"inf\"") == 0);
  }
}

TEST_CASE("a scale puts its ends where they belong and keeps what lies outside on the edge") {
  const Scale linear{10, 20, 100, 0, false};
  CHECK(linear.at(10) == 100);
  CHECK(linear.at(15) == 50);
  CHECK(linear.at(99) == 0);
  const Scale logarithmic{1, 100, 0, 10, true};
  CHECK(std::abs(logarithmic.at(10) - 5) < 1e-12);
  CHECK(logarithmic.at(0.01) == 0);
  CHECK(round_ticks(0, 10, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(round_ticks(3, 3, 5).empty());
  CHECK(decade_ticks(0.5, 200, 5) == std::vector<double>{1, 10, 100});
  CHECK(decade_ticks(1e-6, 10, 4).size() <= 5);
}

TEST_CASE("kbench report writes the page and refuses to overwrite a result") {
  const Tree tree;
  const RunRecord run = some_run({measured_case(32, samples_around(1000))});
  const std::string results = tree.write("a.json", json_document(run));
  const std::string page = tree.path("a.html");
  struct Row {
    std::vector<std::string> arguments;
    int status;
    std::string err;
  };
  const Row rows[] = {
      {{"report", results, "-o", page}, 0, ""},
      {{"report", results, results, "--out", page}, 0, ""},
      {{"-o", page, "report", results}, 0, ""},
      {{"report", "-o", page}, 2, "`kbench report` needs results; name a file"},
      {{"report", results, "-o", results}, 2, "it is one of the results"},
      {{"report", results, "-o", tree.path("no/where.html")}, 2, "cannot write the results to"},
      {{"report", tree.write("b.json", "{}"), "-o", page}, 2, "is no results document"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.arguments);
    const Outcome outcome = kbench_run(tree, row.arguments);
    CHECK(outcome.status == row.status);
    CHECK_THAT(outcome.err, ContainsSubstring(row.err));
    if (row.status == 0) CHECK_THAT(outcome.out, ContainsSubstring("a.html"));
  }
  CHECK_THAT(tree.read("a.html"), StartsWith("<!DOCTYPE html>"));
}

TEST_CASE("kbench report without a page prints the tables that the runs showed") {
  const Tree tree;
  RunRecord run = some_run({measured_case(32, samples_around(1000)), failed_case(64, "wrong"),
                            measured_case(128, {5e6, 6e6})});
  run.cases[1].nonce = 77;
  run.cases[0].over_baseline = Ratio{0.5, Interval{0.49, 0.51}};
  run.cases[0].reply.idle = IdleTime{1000, 750};
  run.cases[0].reply.launch_costs = {1280, 2700, 5400};
  run.baseline = "old.json";
  const std::string results = tree.write("a.json", json_document(run));
  const TableLayout layout = table_layout(run, {});
  std::string table = table_heading(run, 0, layout);
  for (std::size_t i = 0; i < run.cases.size(); ++i) table += table_row(run, i, layout);
  table += table_footer(run, layout);
  const Outcome outcome = kbench_run(tree, {"report", results, results});
  CHECK(outcome.status == 0);
  const std::string first = results + " (kbench 0.1.0, 2026-11-30T20:15:19Z)\n" + table;
  CHECK(outcome.out == first + first);
  CHECK_THAT(kbench_run(tree, {"report", results, "--color", "always"}).out,
             ContainsSubstring("\x1b[1m"));
  CHECK(kbench_run(tree, {"report", tree.write("b.json", "{}")}).status == 2);
}
