// Order statistics and the tests for what a single figure would hide: outliers, two modes, drift, a
// slow start. Fed with numbers only: must not know what a sample times or what is printed of it.
#include "core/distribution.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace kbench {
namespace {

constexpr double k_mad_to_sigma = 1.4826;
constexpr double k_far = 10;            // scaled MADs, as hyperfine has it
constexpr double k_least_far = 0.01;    // of the median: a coarse clock has a MAD of 0
constexpr double k_least_slow = 0.05;   // of the median
constexpr double k_wide_gap = 4;        // MADs inside the clusters
constexpr double k_least_gap = 0.02;    // of the median: two ticks of a coarse clock are no modes
constexpr double k_least_drift = 0.01;  // of the median
constexpr double k_sure = 3;            // standard deviations
constexpr std::size_t k_most_blocks = 100;

std::vector<double> sorted(std::span<const double> samples) {
  std::vector<double> values(samples.begin(), samples.end());
  std::sort(values.begin(), values.end());
  return values;
}

double quantile_of_sorted(std::span<const double> values, double p) {
  const double place = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 >= values.size()) return values.back();
  const double part = place - static_cast<double>(below);
  return values[below] + part * (values[below + 1] - values[below]);
}

double median_of(std::span<const double> samples) { return quantile(samples, 0.5); }

double mad(std::span<const double> samples) {
  const double middle = median_of(samples);
  std::vector<double> distances;
  distances.reserve(samples.size());
  for (const double x : samples) distances.push_back(std::abs(x - middle));
  return median_of(distances);
}

/// Largest k with 2 P(Binomial(n, 1/2) < k) <= 1 - level; 0 when there is none.
std::size_t sign_test_rank(std::size_t n, double level) {
  const double count = static_cast<double>(n);
  // In logarithms: 2^-n has no double beyond n = 1074.
  double log_term = -count * std::log(2.0);
  double below = 0;
  std::size_t k = 0;
  while (k < n / 2) {
    below += std::exp(log_term);
    if (2 * below > 1 - level) break;
    const double i = static_cast<double>(k);
    log_term += std::log((count - i) / (i + 1));
    ++k;
  }
  return k;
}

std::optional<Interval> interval_of_sorted(std::span<const double> values, double level) {
  const std::size_t k = sign_test_rank(values.size(), level);
  if (k == 0) return std::nullopt;
  return Interval{values[k - 1], values[values.size() - k]};
}

std::vector<double> block_medians(std::span<const double> samples) {
  const std::size_t blocks = std::min(samples.size(), k_most_blocks);
  std::vector<double> medians;
  medians.reserve(blocks);
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::size_t begin = b * samples.size() / blocks;
    const std::size_t end = (b + 1) * samples.size() / blocks;
    medians.push_back(median_of(samples.subspan(begin, end - begin)));
  }
  return medians;
}

}  // namespace

double quantile(std::span<const double> samples, double p) {
  KBENCH_ASSERT(!samples.empty() && p >= 0 && p <= 1);
  return quantile_of_sorted(sorted(samples), p);
}

std::optional<Interval> median_interval(std::span<const double> samples, double level) {
  return interval_of_sorted(sorted(samples), level);
}

double scaled_mad(std::span<const double> samples) { return k_mad_to_sigma * mad(samples); }

std::vector<std::size_t> outliers(std::span<const double> samples) {
  std::vector<std::size_t> found;
  if (samples.size() < 9) return found;
  const double middle = median_of(samples);
  const double limit = std::max(k_far * scaled_mad(samples), k_least_far * middle);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (std::abs(samples[i] - middle) > limit) found.push_back(i);
  }
  return found;
}

std::optional<double> slow_first(std::span<const double> samples) {
  if (samples.size() < 5) return std::nullopt;
  const std::span<const double> rest = samples.subspan(1);
  const double middle = median_of(rest);
  const double limit = std::max(k_far * scaled_mad(rest), k_least_slow * middle);
  if (samples.front() - middle <= limit) return std::nullopt;
  return samples.front() / middle;
}

std::optional<TwoModes> two_modes(std::span<const double> samples) {
  const std::size_t n = samples.size();
  if (n < 20) return std::nullopt;
  const std::vector<double> values = sorted(samples);
  const std::size_t tenth = (n + 9) / 10;
  std::size_t split = tenth;  // of the lower cluster: values[0, split)
  for (std::size_t i = tenth; i <= n - tenth; ++i) {
    if (values[i] - values[i - 1] > values[split] - values[split - 1]) split = i;
  }
  const double gap = values[split] - values[split - 1];
  const std::span<const double> all(values);
  const auto low = all.first(split), high = all.subspan(split);
  if (gap <= k_wide_gap * std::max(mad(low), mad(high))) return std::nullopt;
  if (gap <= k_least_gap * quantile_of_sorted(all, 0.5)) return std::nullopt;
  return TwoModes{quantile_of_sorted(low, 0.5), quantile_of_sorted(high, 0.5),
                  static_cast<double>(high.size()) / static_cast<double>(n)};
}

std::optional<double> drift(std::span<const double> samples) {
  if (samples.size() < 20) return std::nullopt;
  const std::vector<double> medians = block_medians(samples);
  const auto count = static_cast<double>(medians.size());
  std::vector<double> slopes;
  double score = 0;
  for (std::size_t i = 0; i < medians.size(); ++i) {
    for (std::size_t j = i + 1; j < medians.size(); ++j) {
      const double change = medians[j] - medians[i];
      slopes.push_back(change / static_cast<double>(j - i));
      score += change > 0 ? 1 : change < 0 ? -1 : 0;
    }
  }
  // Variance of Kendall's score without ties, n (n - 1) (2 n + 5) / 18: ties only make it smaller.
  const double z = score / std::sqrt(count * (count - 1) * (2 * count + 5) / 18);
  const double change = median_of(slopes) * (count - 1) / median_of(samples);
  if (std::abs(z) <= k_sure || std::abs(change) <= k_least_drift) return std::nullopt;
  return change;
}

Distribution describe_distribution(std::span<const double> samples) {
  KBENCH_ASSERT(!samples.empty());
  const std::vector<double> values = sorted(samples);
  return {quantile_of_sorted(values, 0.10), quantile_of_sorted(values, 0.25),
          quantile_of_sorted(values, 0.75), quantile_of_sorted(values, 0.90),
          interval_of_sorted(values, 0.95)};
}

}  // namespace kbench
