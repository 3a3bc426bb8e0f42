// Statistics of one case and the decision to stop measuring. Fed with numbers only: must not read a
// clock or know what a sample times.
#include "core/stats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.h"

namespace kbench {
namespace {

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double k_precision = 0.001;
constexpr std::int64_t k_least_runs = 3;
constexpr double k_least_wall_s = 0.1;
constexpr double k_most_wall_s = 120;

double median_of(std::vector<double> values) {
  const std::size_t middle = values.size() / 2;
  const auto at = [&](std::size_t i) { return values.begin() + static_cast<std::ptrdiff_t>(i); };
  std::nth_element(values.begin(), at(middle), values.end());
  const double upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  const double lower = *std::max_element(values.begin(), at(middle));
  return lower + (upper - lower) / 2;
}

/// Sum of squared distances from `mean`.
double scatter(std::span<const double> samples, double mean) {
  double sum = 0;
  for (const double x : samples) sum += (x - mean) * (x - mean);
  return sum;
}

}  // namespace

Summary summarize(std::span<const double> samples) {
  KBENCH_ASSERT(!samples.empty());
  Summary result;
  result.runs = static_cast<std::int64_t>(samples.size());
  const double runs = static_cast<double>(result.runs);
  if (std::any_of(samples.begin(), samples.end(), [](double x) { return std::isnan(x); })) {
    // NaN has no place in an order: no figure of such samples is a number.
    result.mean = result.std = result.err = result.best = result.worst = result.median = k_nan;
    return result;
  }
  double sum = 0;
  for (const double x : samples) sum += x;
  result.mean = sum / runs;
  result.std = result.runs > 1 ? std::sqrt(scatter(samples, result.mean) / (runs - 1)) : 0;
  result.err = result.std / std::sqrt(runs);
  const auto [best, worst] = std::minmax_element(samples.begin(), samples.end());
  result.best = *best;
  result.worst = *worst;
  result.median = median_of({samples.begin(), samples.end()});
  return result;
}

double geometric_mean(std::span<const double> values) {
  if (values.empty()) return k_nan;
  double sum = 0;
  for (const double x : values) {
    if (!std::isfinite(x) || x <= 0) return k_nan;
    sum += std::log(x);
  }
  return std::exp(sum / static_cast<double>(values.size()));
}

std::string_view to_string(StopReason reason) {
  constexpr std::array<std::string_view, 5> k_names{"none", "precise", "budget", "wall", "repeats"};
  return k_names.at(static_cast<std::size_t>(reason));
}

StopReason StopRule::add(double sample_ns, double wall_s) {
  // Welford's update: the variance needs no second pass over the samples.
  ++runs_;
  const double runs = static_cast<double>(runs_);
  const double distance = sample_ns - mean_;
  mean_ += distance / runs;
  m2_ += distance * (sample_ns - mean_);
  if (runs_ >= k_least_runs && wall_s >= k_least_wall_s) {
    const double err = std::sqrt(m2_ / (runs - 1) / runs);
    if (err / mean_ < k_precision) return StopReason::precise;
    if (mean_ * runs > limits_.budget_ns) return StopReason::budget;
    if (wall_s > k_most_wall_s) return StopReason::wall;
  }
  return runs_ >= limits_.max_repeats ? StopReason::repeats : StopReason::none;
}

double expected_repeats(StopLimits limits, std::int64_t runs, double mean, double err,
                        double wall_s) {
  const double count = static_cast<double>(runs);
  const double each_s = wall_s / count;
  // err(m) = err sqrt(n / m) < precision mean
  const double precise = count * std::pow(err / mean / k_precision, 2);
  const double budget = limits.budget_ns / mean;
  double least = static_cast<double>(k_least_runs);
  double wall = static_cast<double>(limits.max_repeats);
  if (each_s > 0) {
    least = std::max(least, k_least_wall_s / each_s);
    wall = k_most_wall_s / each_s;
  }
  const double end = std::max(least, std::min({precise, budget, wall}));
  return std::min(end, static_cast<double>(limits.max_repeats));
}

}  // namespace kbench
