#include "core/stats.h"

#include <cmath>
#include <limits>
#include <vector>

#include "catch.h"
#include "core/mode.h"

using namespace kbench;

namespace {

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double k_inf = std::numeric_limits<double>::infinity();

/// Feeds equal samples and equal steps of wall time; answers after which sample it stopped and why.
struct Stop {
  std::int64_t runs;
  StopReason reason;
};
Stop run(StopLimits limits, const std::vector<double>& samples, double step_s) {
  StopRule rule(limits);
  double wall_s = 0;
  for (std::int64_t i = 1; i <= 10000; ++i) {
    wall_s += step_s;
    const StopReason reason =
        rule.add(samples[static_cast<std::size_t>(i - 1) % samples.size()], wall_s);
    if (reason != StopReason::none) return {i, reason};
  }
  return {0, StopReason::none};
}

}  // namespace

TEST_CASE("a summary has n minus one in its standard deviation") {
  const std::vector<double> samples{4, 2, 8, 6};
  const Summary s = summarize(samples);
  CHECK(s.runs == 4);
  CHECK(s.mean == 5);
  CHECK(std::abs(s.std - std::sqrt(20.0 / 3)) < 1e-12);
  CHECK(std::abs(s.err - std::sqrt(20.0 / 3) / 2) < 1e-12);
  CHECK(s.best == 2);
  CHECK(s.worst == 8);
  CHECK(s.median == 5);
  const std::vector<double> odd{9, 1, 5};
  CHECK(summarize(odd).median == 5);
  const std::vector<double> one{7};
  CHECK(summarize(one).std == 0);
  CHECK(summarize(one).err == 0);
  CHECK(summarize(one).median == 7);
}

TEST_CASE("a NaN among the samples shows in every figure") {
  const std::vector<double> samples{1, k_nan, 3};
  const Summary s = summarize(samples);
  for (const double figure : {s.mean, s.std, s.err, s.best, s.worst, s.median}) {
    CHECK(std::isnan(figure));
  }
}

TEST_CASE("the geometric mean refuses what has no logarithm") {
  CHECK(std::abs(geometric_mean(std::vector<double>{2, 8}) - 4) < 1e-12);
  CHECK(std::abs(geometric_mean(std::vector<double>{1e300, 1e300}) / 1e300 - 1) < 1e-10);
  for (const double bad : {0.0, -1.0, k_nan, k_inf}) {
    CHECK(std::isnan(geometric_mean(std::vector<double>{2, bad})));
  }
  CHECK(std::isnan(geometric_mean(std::vector<double>{})));
}

TEST_CASE("the stop rule ends a loop for each of its reasons and not earlier") {
  struct Row {
    const char* name;
    StopLimits limits;
    std::vector<double> samples;
    double step_s;
    Stop stop;
  };
  const StopLimits wide{200, 1e30};
  const std::vector<Row> rows{
      {"equal samples need three repeats", wide, {100}, 1.0, {3, StopReason::precise}},
      {"equal samples need 0.1 s", wide, {100}, 0.015625, {7, StopReason::precise}},
      {"loose samples do not", wide, {100, 200}, 0.001, {200, StopReason::repeats}},
      {"budget", {200, 1000}, {100, 200}, 1.0, {8, StopReason::budget}},
      {"budget needs three repeats", {200, 1}, {100, 200}, 1.0, {3, StopReason::budget}},
      {"budget needs 0.1 s", {200, 1}, {100, 200}, 0.03125, {4, StopReason::budget}},
      {"wall", wide, {100, 200}, 30.5, {4, StopReason::wall}},
      {"wall needs three repeats", wide, {100, 200}, 121, {3, StopReason::wall}},
      {"the cap holds before three repeats", {1, 1e30}, {100}, 0.001, {1, StopReason::repeats}},
      {"the cap holds before 0.1 s", {5, 1e30}, {100}, 0.001, {5, StopReason::repeats}},
      {"NaN is never precise", {50, 1e30}, {k_nan}, 1.0, {50, StopReason::repeats}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const Stop stop = run(row.limits, row.samples, row.step_s);
    CHECK(stop.runs == row.stop.runs);
    CHECK(to_string(stop.reason) == to_string(row.stop.reason));
  }
}

TEST_CASE("the precision limit is one thousandth of the mean") {
  // Samples m - d, m, m + d: err = d / sqrt(3).
  for (const double err : {0.00099, 0.00101}) {
    StopRule rule(StopLimits{1000, 1e30});
    const double d = err * std::sqrt(3.0) * 1000;
    rule.add(1000 - d, 1);
    rule.add(1000 + d, 1);
    CHECK((rule.add(1000, 1) == StopReason::precise) == (err < 0.001));
  }
}

TEST_CASE("reasons have names") {
  CHECK(to_string(StopReason::none) == "none");
  CHECK(to_string(StopReason::precise) == "precise");
  CHECK(to_string(StopReason::budget) == "budget");
  CHECK(to_string(StopReason::wall) == "wall");
  CHECK(to_string(StopReason::repeats) == "repeats");
}

TEST_CASE("the modes are those of the evaluator contract") {
  REQUIRE(modes().size() == 5);  // and the trace, which is ours
  const Mode* test = find_mode("test");
  REQUIRE(test != nullptr);
  CHECK(test->uses_tests);
  CHECK_FALSE(test->measures);
  CHECK_FALSE(test->only_first_case);
  CHECK(test->warm_up == WarmUp::none);
  CHECK_FALSE(test->stop_after_failure);

  const Mode* benchmark = find_mode("benchmark");
  REQUIRE(benchmark != nullptr);
  CHECK_FALSE(benchmark->uses_tests);
  CHECK(benchmark->measures);
  CHECK(benchmark->warm_up == WarmUp::first_case);
  CHECK(benchmark->warm_up_limits.max_repeats == 200);
  CHECK(benchmark->warm_up_limits.budget_ns == 1e8);
  CHECK(benchmark->limits.max_repeats == 200);
  CHECK(benchmark->limits.budget_ns == 1e10);
  CHECK_FALSE(benchmark->stop_after_failure);

  const Mode* leaderboard = find_mode("leaderboard");
  REQUIRE(leaderboard != nullptr);
  CHECK(leaderboard->measures);
  CHECK(leaderboard->warm_up == WarmUp::every_case);
  CHECK(leaderboard->warm_up_limits.max_repeats == 1000);
  CHECK(leaderboard->warm_up_limits.budget_ns == 5e8);
  CHECK(leaderboard->limits.max_repeats == 1000);
  CHECK(leaderboard->limits.budget_ns == 3e10);
  CHECK(leaderboard->stop_after_failure);

  const Mode* profile = find_mode("profile");
  REQUIRE(profile != nullptr);
  CHECK(profile->only_first_case);
  CHECK_FALSE(profile->measures);
  CHECK(profile->warm_up == WarmUp::none);
  CHECK(find_mode("Test") == nullptr);
}
