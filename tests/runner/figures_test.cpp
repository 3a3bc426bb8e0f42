// Rates, digits and warnings of a case: pure functions of its record.
#include "runner/figures.h"

#include <cmath>
#include <limits>

#include "catch.h"
#include "runner/warnings.h"

using namespace kbench;

namespace {

CaseRecord row_of(std::vector<double> samples) {
  CaseRecord row;
  row.ended = row.passed = true;
  row.summary = summarize(samples);
  row.distribution = describe_distribution(samples);
  row.reply.samples_ns = std::move(samples);
  row.reply.stop = StopReason::repeats;
  return row;
}

/// The only warning about samples; fails when there is another number of them.
Warning warning_of(std::vector<double> samples, const char* mode = "benchmark",
                   bool warm_up = true) {
  RunRecord record;
  record.mode = find_mode(mode);
  record.warm_up = warm_up;
  record.cases = {row_of(std::move(samples))};
  const std::vector<Warning> warnings = warnings_of(record, 0);
  REQUIRE(warnings.size() == 1);
  return warnings.front();
}

/// Thirty samples around 1000 ns that raise no warning by themselves.
std::vector<double> quiet() {
  std::vector<double> samples;
  for (int i = 0; i < 30; ++i) samples.push_back(1000 + i % 7);
  return samples;
}

}  // namespace

TEST_CASE("times have the unit that suits them") {
  CHECK(format_time(12.34) == "12.34 ns");
  CHECK(format_time(1250) == "1.25 us");
  CHECK(format_time(3.5e6) == "3.5 ms");
  CHECK(format_time(2e9) == "2 s");
  CHECK(format_mean(1250, 144) == "1.25 us ± 0.14 us");
}

TEST_CASE("digits end where the interval does") {
  struct Row {
    double value, uncertainty;
    const char* text;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Row& row :
       {Row{2.7483, 0.008, "2.748"}, Row{2.7483, 0.014, "2.748"}, Row{2.7483, 0.04, "2.75"},
        Row{2.7483, 0.4, "2.7"}, Row{2.7483, 4, "3"}, Row{157.6853, 0.013, "157.69"},
        Row{157.6853, 1e-6, "157.69"}, Row{148, 40, "150"}, Row{148, 14, "148"},
        Row{148, 300, "100"}, Row{2.7483, 0, "2.748"}, Row{2.7483, nan, "2.748"}, Row{0, 1, "0"}}) {
    CAPTURE(row.value, row.uncertainty);
    CHECK(fixed(row.value, decimals_for(row.value, row.uncertainty)) == row.text);
  }
}

TEST_CASE("rates and the share of the floor follow from the median") {
  CaseRecord row = row_of({1000, 2000, 9000});
  CHECK_FALSE(tflop_per_s(row));
  CHECK_FALSE(gb_per_s(row));
  CHECK_FALSE(floor_share(row));
  row.flops = 4e6;
  row.bytes = 1e6;
  row.reply.floor_ns = 500;
  CHECK(tflop_per_s(row) == 2.0);
  CHECK(gb_per_s(row) == 500.0);
  CHECK(floor_share(row) == 0.25);
  CHECK(uncertainty_of(row) == row.summary->err);
  row.summary.reset();
  CHECK_FALSE(tflop_per_s(row));
}

TEST_CASE("samples without anything odd raise no warning") {
  RunRecord record;
  record.mode = find_mode("benchmark");
  record.cases = {row_of(quiet())};
  CHECK(warnings_of(record, 0).empty());
  record.cases[0].summary.reset();
  CHECK(warnings_of(record, 0).empty());
}

TEST_CASE("each warning says what, why and what to try") {
  std::vector<double> outlier = quiet();
  outlier[10] = 3000;
  Warning warning = warning_of(outlier);
  CHECK(warning.kind == "outliers");
  CHECK_THAT(warning.text, StartsWith("1 of 30 repeats is far from the median and kept, the "
                                      "slowest took 3 us ("));
  std::vector<double> modes = quiet();
  for (std::size_t i = 2; i < modes.size(); i += 3) modes[i] += 200;
  warning = warning_of(modes);
  CHECK(warning.kind == "two modes");
  CHECK_THAT(warning.text, ContainsSubstring("around 1.003 us and, 33 %, around 1.202 us"));
  CHECK_THAT(warning.text, ContainsSubstring("`--fresh-inputs off`"));
  std::vector<double> moving = quiet();
  for (std::size_t i = 0; i < moving.size(); ++i) moving[i] -= 3.0 * static_cast<double>(i);
  warning = warning_of(moving);
  CHECK(warning.kind == "drift");
  CHECK_THAT(warning.text, ContainsSubstring("% faster from the first to the last (clocks still"));
  warning = warning_of({1000, 1000, 1001});
  CHECK(warning.kind == "few repeats");
  CHECK(warning.text ==
        "only 3 repeats (stopped: repeats), too few for an interval of the median; "
        "`--repeats 40` takes more");
}

TEST_CASE("what two events cost is warned of above 5 % of a repeat, all of its calls together") {
  RunRecord record;
  record.mode = find_mode("benchmark");
  record.cases = {row_of(quiet())};
  Reply& reply = record.cases[0].reply;
  const double median = record.cases[0].summary->median;
  reply.calls_per_repeat = 2;
  reply.launch_costs.event_pair_ns = 0.05 * 2 * median;
  CHECK(warnings_of(record, 0).empty());
  reply.launch_costs.event_pair_ns = 0.06 * 2 * median;
  const std::vector<Warning> warnings = warnings_of(record, 0);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].kind == "event cost");
  CHECK(warnings[0].text ==
        "two events with nothing between them show 120.4 ns already, 6 % of a repeat (the calls "
        "are short); `--launch queued` shows how much the launches add");
}

TEST_CASE("a leak is a warning that names the memory") {
  struct Row {
    DeviceKind device;
    const char* text;
  };
  for (const Row& row :
       {Row{DeviceKind::cuda,
            "each call leaves 64 KiB of device memory behind (what is free shrinks from repeat to "
            "repeat, unless another process takes it); free it before the call returns, or take it "
            "once in `create`"},
        Row{DeviceKind::host,
            "each call leaves 64 KiB of host memory behind (what malloc has given out grows from "
            "repeat to repeat); free it before the call returns, or take it once in `create`"}}) {
    RunRecord record;
    record.mode = find_mode("benchmark");
    record.cases = {row_of(quiet())};
    record.cases[0].kernel.device = row.device;
    record.cases[0].reply.leaked_bytes_per_call = 65536;
    const std::vector<Warning> warnings = warnings_of(record, 0);
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].kind == "leak");
    CHECK(warnings[0].text == row.text);
    record.cases[0].reply.leaked_bytes_per_call = 0;
    CHECK(warnings_of(record, 0).empty());
  }
}

TEST_CASE("a slow first repeat asks for the warm-up that the run did not have") {
  // Also an outlier: both are said, the cause first.
  std::vector<double> samples = quiet();
  samples[0] = 2000;
  struct Row {
    const char* mode;
    bool warm_up;
    const char* advice;
  };
  for (const Row& row : {Row{"benchmark", true, "try `kbench leaderboard`"},
                         Row{"benchmark", false, "leave out `--no-warmup`"},
                         Row{"leaderboard", true, "run it again on an idle machine"}}) {
    RunRecord record;
    record.mode = find_mode(row.mode);
    record.warm_up = row.warm_up;
    record.cases = {row_of(samples)};
    const std::vector<Warning> warnings = warnings_of(record, 0);
    REQUIRE(warnings.size() == 2);
    CHECK(warnings[0].kind == "slow first repeat");
    CHECK_THAT(warnings[0].text, StartsWith("the first repeat took 2 times the median"));
    CHECK_THAT(warnings[0].text, ContainsSubstring(row.advice));
    CHECK(warnings[1].kind == "outliers");
  }
}
