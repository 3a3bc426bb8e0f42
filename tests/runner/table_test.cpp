// The readable table as a pure function of the record.
#include "catch.h"
#include "runner/report.h"

using namespace kbench;

namespace {

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
  if (record.mode->measures) good.summary = Summary{3, 1250, 250, 144, 1000, 1500, 1250};
  record.cases = {good, bad};
  return record;
}

}  // namespace

TEST_CASE("times have the unit that suits them") {
  CHECK(format_time(12.34) == "12.34 ns");
  CHECK(format_time(1250) == "1.25 us");
  CHECK(format_time(3.5e6) == "3.5 ms");
  CHECK(format_time(2e9) == "2 s");
  CHECK(format_mean(1250, 144) == "1.25 us ± 0.14 us");
}

TEST_CASE("the heading names kernel, device and clock once for each problem") {
  RunRecord record = record_of("test");
  CHECK(table_heading(record, 0) ==
        "qr_v2: kernel lapack, device host (Fake CPU), clock steady_clock\n"
        " #  spec             result\n");
  CHECK(table_heading(record, 1).empty());
  record.cases[1].spec.problem = "eigh_py";
  CHECK_THAT(table_heading(record, 1), StartsWith("\neigh_py: kernel lapack"));
  CHECK_THAT(table_heading(record, 0), ContainsSubstring("#  problem  spec"));
}

TEST_CASE("a row of a check is one line with pass or the failure in words") {
  const RunRecord record = record_of("test");
  CHECK(table_row(record, 0) == " 0  batch: 2; n: 4   pass  fine\n");
  CHECK(table_row(record, 1) == " 1  batch: 20; n: 4  FAIL  line one\\nline two\n");
}

TEST_CASE("a row of a measurement shows mean, error, best, runs and the worst residual") {
  const RunRecord record = record_of("benchmark");
  CHECK(table_row(record, 0) ==
        " 0  batch: 2; n: 4   1.25 us ± 0.14 us            1 us      3          0.025\n");
  CHECK(table_row(record, 1) == " 1  batch: 20; n: 4  FAIL  line one\\nline two\n");
}

TEST_CASE("the geometric mean of a problem is shown only when all its cases were measured") {
  RunRecord record = record_of("benchmark");
  CHECK(table_footer(record) == "1 passed, 1 failed\n");
  record.cases[1] = record.cases[0];
  record.cases[1].summary->mean = 5000;
  CHECK(table_footer(record) == "geometric mean of qr_v2: 2.5 us\n2 passed, 0 failed\n");
  record.cases[1].spec.problem = "eigh_py";
  CHECK(table_footer(record) ==
        "geometric mean of qr_v2: 1.25 us\ngeometric mean of eigh_py: 5 us\n"
        "2 passed, 0 failed\n");
}
