// Paired comparison of times: order of turns, intervals of ratios, verdicts, and the end of the
// rounds. Must not know what is timed, who asks, or how an answer is printed.
#include "core/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"

namespace kbench {
namespace {

constexpr std::int64_t k_least_rounds = 24;
constexpr std::int64_t k_most_rounds = 200;
constexpr double k_budget_s = 20;
constexpr double k_most_wall_s = 120;
constexpr double k_least_half_width = 0.0005;  // narrower than any clock or kernel is steady

}  // namespace

double level_of_each(std::int64_t comparisons) {
  return 1 - (1 - k_run_level) / static_cast<double>(std::max<std::int64_t>(comparisons, 1));
}

double each_of_two(double level) { return 1 - (1 - level) / 2; }

std::int64_t least_pairs(double level) {
  // Both ends of the sign test together have the probability 2^(1 - n).
  std::int64_t pairs = 1;
  for (double outside = 1; outside > 1 - level; outside /= 2) ++pairs;
  return pairs;
}

std::vector<std::size_t> order_of_round(std::int64_t round, std::size_t arms) {
  const std::size_t first = static_cast<std::size_t>(round / 2) % arms;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < arms; ++i) order.push_back((first + i) % arms);
  if (round % 2 == 1) std::reverse(order.begin(), order.end());
  return order;
}

Ratio ratio_of_pairs(std::span<const double> log_ratios, double level) {
  Ratio ratio;
  ratio.value = std::exp(quantile(log_ratios, 0.5));
  if (const auto logs = median_interval(log_ratios, level)) {
    ratio.interval = Interval{std::exp(logs->low), std::exp(logs->high)};
  }
  return ratio;
}

Ratio mean_ratio(std::span<const Ratio> ratios) {
  std::vector<double> values, lows, highs;
  for (const Ratio& ratio : ratios) {
    values.push_back(ratio.value);
    if (!ratio.interval) continue;
    lows.push_back(ratio.interval->low);
    highs.push_back(ratio.interval->high);
  }
  Ratio mean{geometric_mean(values), std::nullopt};
  if (lows.size() == values.size()) mean.interval = {geometric_mean(lows), geometric_mean(highs)};
  return mean;
}

std::string_view to_string(RatioVerdict verdict) {
  constexpr std::array<std::string_view, 4> k_names{"faster", "slower", "same", "undecided"};
  return k_names.at(static_cast<std::size_t>(verdict));
}

RatioVerdict judge_ratio(const Ratio& ratio, double same) {
  if (!ratio.interval) return RatioVerdict::undecided;
  const double low = 1 / (1 + same), high = 1 + same;
  if (ratio.interval->low >= low && ratio.interval->high <= high) return RatioVerdict::same;
  if (ratio.interval->high < low) return RatioVerdict::faster;
  if (ratio.interval->low > high) return RatioVerdict::slower;
  return RatioVerdict::undecided;
}

bool is_slower_by(const Ratio& ratio, double fraction) {
  return ratio.interval && ratio.interval->low > 1 + fraction;
}

RoundRule::RoundRule(std::size_t challengers, double level, double same, std::int64_t exact)
    : ratios_(challengers),
      level_(level),
      half_width_(std::max(std::log1p(same) / 2, k_least_half_width)),
      least_(std::max(k_least_rounds, least_pairs(level))),
      exact_(exact) {}

bool RoundRule::is_precise() const {
  return std::all_of(ratios_.begin(), ratios_.end(), [&](const std::vector<double>& logs) {
    const auto interval = median_interval(logs, level_);
    return interval && interval->high - interval->low <= 2 * half_width_;
  });
}

StopReason RoundRule::add(std::span<const double> log_ratios, double wall_s) {
  KBENCH_ASSERT(log_ratios.size() == ratios_.size() && !ratios_.empty());
  for (std::size_t i = 0; i < log_ratios.size(); ++i) ratios_[i].push_back(log_ratios[i]);
  const auto rounds = static_cast<std::int64_t>(ratios_.front().size());
  if (exact_ > 0) return rounds >= exact_ ? StopReason::repeats : StopReason::none;
  // Mirrored rounds belong together.
  if (rounds % 2 != 0) return StopReason::none;
  if (wall_s > k_most_wall_s) return StopReason::wall;
  if (rounds < least_) return StopReason::none;
  if (is_precise()) return StopReason::precise;
  if (wall_s > k_budget_s) return StopReason::budget;
  return rounds >= k_most_rounds ? StopReason::repeats : StopReason::none;
}

double RoundRule::most_left_s(double wall_s) const {
  const auto rounds = static_cast<double>(ratios_.front().size());
  const double each_s = wall_s / rounds;
  const auto until = [&](std::int64_t end) {
    return std::max(static_cast<double>(end) - rounds, 0.0) * each_s;
  };
  if (exact_ > 0) return until(exact_);
  const double budget_s = std::max(k_budget_s - wall_s, until(least_));
  return std::max(std::min({until(k_most_rounds), budget_s, k_most_wall_s - wall_s}), 0.0);
}

}  // namespace kbench
