// The readable table as a pure function of the record.
#include "catch.h"
#include "runner/figures.h"
#include "runner/report.h"
#include "runner/table_columns.h"

using namespace kbench;

namespace {

const TextStyle k_plain{};

RunRecord record_of(const char* mode) {
  RunRecord record;
  record.mode = find_mode(mode);
  record.device = DeviceInfo{};
  record.device->name = "Fake CPU";
  record.device->clock = "steady_clock";
  CaseRecord good;
  good.spec.problem = "qr_v2";
  good.spec.spec = "batch: 2; n: 4";
  good.kernel.name = "lapack";
  good.ended = good.passed = true;
  good.reply.message = "fine";
  good.reply.worst_of_gate = 0.025;
  CaseRecord bad = good;
  bad.passed = false;
  bad.spec.spec = "batch: 20; n: 4";
  bad.error = "line one\nline two";
  if (record.mode->measures) {
    for (int i = 0; i < 41; ++i) good.reply.samples_ns.push_back(2748 + 0.1 * (i % 5 - 2));
    good.reply.stop = StopReason::precise;
    good.reply.floor_ns = 274.8;
    good.flops = 5.496e6;
    good.bytes = 27480;
    good.summary = Summary{200, 2751, 57, 4, 2719, 2900, 2748};
    good.distribution = Distribution{2730, 2740, 2760, 2812, Interval{2740, 2756}};
  }
  record.cases = {good, bad};
  return record;
}

std::string row_of(const RunRecord& record, std::size_t i, const TextStyle& style = k_plain) {
  return table_row(record, i, table_layout(record, style));
}

std::string heading_of(const RunRecord& record, std::size_t i, const TextStyle& style = k_plain) {
  return table_heading(record, i, table_layout(record, style));
}

std::string footer_of(const RunRecord& record) {
  return table_footer(record, table_layout(record, k_plain));
}

}  // namespace

TEST_CASE("the heading names kernel, device and clock once for each problem") {
  RunRecord record = record_of("test");
  CHECK(heading_of(record, 0) ==
        "qr_v2: kernel lapack, device host (Fake CPU), clock steady_clock\n"
        " #  case             result\n");
  CHECK(heading_of(record, 1).empty());
  record.cases[1].spec.problem = "eigh_py";
  CHECK_THAT(heading_of(record, 1), StartsWith("\neigh_py: kernel lapack"));
}

TEST_CASE("a row of a check is one line with pass or the failure in words") {
  const RunRecord record = record_of("test");
  CHECK(row_of(record, 0) == " 0  batch: 2; n: 4   pass  fine\n");
  CHECK(row_of(record, 1) == " 1  batch: 20; n: 4  FAIL  line one\\nline two\n");
}

TEST_CASE("a measured row without a limit of width is one line under its heading") {
  const RunRecord record = record_of("benchmark");
  const std::string heading = heading_of(record, 0);
  CHECK(heading.substr(heading.find('\n') + 1) ==
        " #  case                 median    95 % interval       mean ± err      min      p90   runs"
        "     stop  TFLOP/s    GB/s  floor %  idle %  res/gate\n");
  CHECK(row_of(record, 0) ==
        " 0  batch: 2; n: 4     2.748 us    2.740 - 2.756    2.751 ± 0.004    2.719    2.812    200"
        "  precise        2      10       10       -     0.025\n");
  CHECK(row_of(record, 1) == " 1  batch: 20; n: 4  FAIL  line one\\nline two\n");
}

TEST_CASE("no line of a terminal is longer than the terminal and no figure is lost") {
  const RunRecord record = record_of("benchmark");
  for (const std::size_t width : {60u, 80u, 100u, 120u, 160u}) {
    CAPTURE(width);
    const TextStyle style{width, true};
    std::string text = heading_of(record, 0, style) + row_of(record, 0, style);
    for (const std::string& cell : figure_cells(record.cases[0], style)) {
      CHECK_THAT(text, ContainsSubstring(cell));
    }
    for (const Column& column : figure_columns()) {
      CHECK_THAT(text, ContainsSubstring(std::string(column.name)));
    }
    text.erase(0, text.find('\n') + 1);  // the sentence about the device may be longer
    for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      CHECK(width_of(text.substr(0, end)) <= width);
    }
  }
  CHECK(row_of(record, 0, {120, false}).substr(0, 19) == " 0  batch: 2; n: 4\n");
  CHECK(row_of(record, 0, {160, false}) == row_of(record, 0));
}

TEST_CASE("a long reason is broken between words and indented on a terminal") {
  RunRecord record = record_of("test");
  record.cases[1].error =
      "factor residual of matrix 3 is 7.000 where at most 2.000 is allowed by it";
  CHECK(row_of(record, 1, {60, false}) ==
        " 1  batch: 20; n: 4\n"
        "    FAIL  factor residual of matrix 3 is 7.000 where at most\n"
        "          2.000 is allowed by it\n");
}

TEST_CASE("a case without an interval, floor or counts shows dashes") {
  RunRecord record = record_of("benchmark");
  CaseRecord& row = record.cases[0];
  row.distribution->median_95.reset();
  row.flops = row.bytes = row.reply.floor_ns = 0;
  const std::vector<std::string> cells = figure_cells(row, k_plain);
  for (const std::size_t i : {1u, 7u, 8u, 9u}) CHECK(cells[i] == "-");
}

TEST_CASE("the mean of one repeat stands without an error that nobody knows") {
  RunRecord record = record_of("benchmark");
  CaseRecord& row = record.cases[0];
  row.reply.samples_ns = {2748};
  row.summary = summarize(row.reply.samples_ns);
  row.distribution = describe_distribution(row.reply.samples_ns);
  CHECK(figure_cells(row, k_plain)[2] == "2.748");
  CHECK(format_mean(2748, 0) == "2.748 us");
}

TEST_CASE("the share of the event time in which nothing ran stands in its column") {
  RunRecord record = record_of("benchmark");
  record.cases[0].reply.idle = IdleTime{1000, 750};
  CHECK(figure_cells(record.cases[0], k_plain)[10] == "25");
}

TEST_CASE("warnings stand below their case") {
  RunRecord record = record_of("benchmark");
  record.cases[0].reply.samples_ns = {1000, 1250, 1500};
  CHECK_THAT(row_of(record, 0),
             ContainsSubstring("0.025\n    warning: only 3 repeats (stopped: precise); "
                               "`--repeats 40` takes more\n"));
}

TEST_CASE("the geometric mean of a problem is shown only when all its cases were measured") {
  RunRecord record = record_of("benchmark");
  CHECK(footer_of(record) == "1 passed, 1 failed\n");
  record.cases[0].summary->mean = 1250;
  record.cases[1] = record.cases[0];
  record.cases[1].summary->mean = 5000;
  CHECK(footer_of(record) == "geometric mean of qr_v2: 2.5 us\n2 passed, 0 failed\n");
  record.cases[1].spec.problem = "eigh_py";
  CHECK(footer_of(record) ==
        "geometric mean of qr_v2: 1.25 us\ngeometric mean of eigh_py: 5 us\n"
        "2 passed, 0 failed\n");
}
