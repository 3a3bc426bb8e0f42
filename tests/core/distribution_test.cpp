#include "core/distribution.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "catch.h"

using namespace kbench;

namespace {

std::vector<double> ramp(std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 1; i <= count; ++i) values.push_back(static_cast<double>(i));
  return values;
}

/// Share of 1000 drawn lists of normal samples (100 +- 1) for which `found` is true.
double share(std::size_t count, const std::function<bool(const std::vector<double>&)>& found) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(100, 1);
  int hits = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<double> samples(count);
    for (double& x : samples) x = normal(random);
    hits += found(samples) ? 1 : 0;
  }
  return hits / 1000.0;
}

}  // namespace

TEST_CASE("a quantile lies linearly between the order statistics") {
  const std::vector<double> samples{40, 10, 20, 30};
  CHECK(quantile(samples, 0) == 10);
  CHECK(quantile(samples, 1) == 40);
  CHECK(quantile(samples, 0.5) == 25);
  CHECK(std::abs(quantile(samples, 0.9) - 37) < 1e-12);
  CHECK(quantile(std::vector<double>{7}, 0.9) == 7);
}

TEST_CASE("the interval of the median has the ranks of the sign test") {
  // Ranks from the tables of the binomial distribution (Conover, Practical Nonparametric
  // Statistics): 95 % for n = 6, 10, 20, 50.
  struct Row {
    std::size_t count;
    double low, high;
  };
  for (const Row& row :
       {Row{6, 1, 6}, Row{8, 1, 8}, Row{9, 2, 8}, Row{10, 2, 9}, Row{20, 6, 15}, Row{50, 18, 33}}) {
    CAPTURE(row.count);
    const auto interval = median_interval(ramp(row.count));
    REQUIRE(interval);
    CHECK(interval->low == row.low);
    CHECK(interval->high == row.high);
  }
  CHECK_FALSE(median_interval(ramp(5)));
  CHECK_FALSE(median_interval({}));
  CHECK_FALSE(median_interval(ramp(6), 0.99));
}

TEST_CASE("the interval of very many samples has the width of the normal approximation") {
  const auto interval = median_interval(ramp(100000));
  REQUIRE(interval);
  const double half = (interval->high - interval->low) / 2;
  CHECK(std::abs(half - 1.96 * std::sqrt(100000.0) / 2) < 2);
}

TEST_CASE("the interval covers the true median as often as it says") {
  for (const std::size_t count : {6u, 20u, 101u}) {
    CAPTURE(count);
    const double covered = share(count, [](const std::vector<double>& samples) {
      const auto interval = median_interval(samples);
      return interval->low <= 100 && 100 <= interval->high;
    });
    CHECK(covered >= 0.94);
  }
}

TEST_CASE("the scaled MAD is the standard deviation of normal samples") {
  CHECK(std::abs(scaled_mad(std::vector<double>{1, 2, 3, 4, 100}) - 1.4826) < 1e-12);
  CHECK(scaled_mad(std::vector<double>{5}) == 0);
}

TEST_CASE("outliers are named by their place and only beyond noise and the clock's ticks") {
  std::vector<double> samples = ramp(20);
  for (double& x : samples) x = 1000 + x;
  CHECK(outliers(samples).empty());
  samples[3] = 2000;
  samples[17] = 500;
  CHECK(outliers(samples) == std::vector<std::size_t>{3, 17});
  const std::vector<double> ticks{5000, 5000, 5000, 5000, 5000, 5000, 5032, 5000, 5000, 5000};
  CHECK(outliers(ticks).empty());
  CHECK(outliers(std::vector<double>{1, 1, 1, 1, 1, 1, 1, 9}).empty());
}

TEST_CASE("a slow first sample is told from noise") {
  CHECK(slow_first(std::vector<double>{150, 100, 101, 99, 100, 100}) == 1.5);
  CHECK_FALSE(slow_first(std::vector<double>{104, 100, 101, 99, 100, 100}));
  CHECK_FALSE(slow_first(std::vector<double>{50, 100, 101, 99, 100, 100}));
  CHECK_FALSE(slow_first(std::vector<double>{150, 100, 150, 101}));
  CHECK_FALSE(slow_first(std::vector<double>{130, 100, 140, 90, 120, 80, 110}));
}

TEST_CASE("two clusters of samples are found with their medians and shares") {
  std::vector<double> samples;
  for (int i = 0; i < 30; ++i) samples.push_back((i % 3 == 0 ? 120 : 100) + 0.1 * (i % 5));
  const auto modes = two_modes(samples);
  REQUIRE(modes);
  CHECK(std::abs(modes->low - 100.2) < 0.11);
  CHECK(std::abs(modes->high - 120.2) < 0.11);
  CHECK(std::abs(modes->high_share - 1.0 / 3) < 1e-12);
  samples.resize(19);
  CHECK_FALSE(two_modes(samples));
}

TEST_CASE("neither one outlier nor a coarse clock makes two modes") {
  std::vector<double> samples(30, 100);
  samples[4] = 500;
  CHECK_FALSE(two_modes(samples));
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = i % 2 == 0 ? 5000 : 5032;
  CHECK_FALSE(two_modes(samples));
}

TEST_CASE("a drift is the relative change over the whole run") {
  for (const std::size_t count : {20u, 200u, 5000u}) {
    CAPTURE(count);
    std::vector<double> samples;
    for (std::size_t i = 0; i < count; ++i) {
      const double place = static_cast<double>(i) / static_cast<double>(count - 1);
      samples.push_back(100 + 10 * place + (i % 2 == 0 ? 0.3 : -0.3));
    }
    const auto up = drift(samples);
    REQUIRE(up);
    CHECK(std::abs(*up - 10.0 / 105) < 0.01);
    std::reverse(samples.begin(), samples.end());
    CHECK(drift(samples).value_or(0) < -0.08);
    samples.resize(19);
    CHECK_FALSE(drift(samples));
  }
  std::vector<double> slow_start(40, 100);
  slow_start[0] = 1000;
  CHECK_FALSE(drift(slow_start));
}

TEST_CASE("plain noise raises no alarm in ninety-nine of a hundred runs") {
  for (const std::size_t count : {20u, 100u}) {
    CAPTURE(count);
    CHECK(share(count, [](const auto& samples) { return !outliers(samples).empty(); }) <= 0.01);
    CHECK(share(count, [](const auto& samples) { return slow_first(samples).has_value(); }) <=
          0.01);
    CHECK(share(count, [](const auto& samples) { return two_modes(samples).has_value(); }) <= 0.01);
    CHECK(share(count, [](const auto& samples) { return drift(samples).has_value(); }) <= 0.01);
  }
}

TEST_CASE("the distribution of a case holds its quantiles and the interval where there is one") {
  const Distribution many = describe_distribution(ramp(101));
  CHECK(many.p10 == 11);
  CHECK(many.p25 == 26);
  CHECK(many.p75 == 76);
  CHECK(many.p90 == 91);
  CHECK(many.median_95.has_value());
  CHECK_FALSE(describe_distribution(ramp(3)).median_95);
}
