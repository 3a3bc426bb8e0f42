// Questions to the samples of one case that need their order or their sequence. Pure functions of
// numbers; every sample must be finite, in the order in which it was taken.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace kbench {

struct Interval {
  double low = 0, high = 0;
};

/// The p-quantile, 0 <= p <= 1, linear between order statistics. `samples` must not be empty.
double quantile(std::span<const double> samples, double p);

/// Interval of the median from order statistics (the inverse of the sign test): covers it with at
/// least `level`, whatever the distribution, for independent samples. Empty when there are too few:
/// 95 % needs six.
std::optional<Interval> median_interval(std::span<const double> samples, double level = 0.95);

/// 1.4826 times the median distance from the median: the standard deviation for normal samples.
/// `samples` must not be empty.
double scaled_mad(std::span<const double> samples);

/// Indices of the samples more than ten scaled MADs, and more than 1 %, from the median. Empty for
/// fewer than nine samples.
std::vector<std::size_t> outliers(std::span<const double> samples);

/// How many times the median of the rest the first sample took, when it is slower than ten scaled
/// MADs and 5 % explain; needs five samples.
std::optional<double> slow_first(std::span<const double> samples);

/// Two clusters of samples: medians of both, and the share of samples in the upper one.
struct TwoModes {
  double low = 0, high = 0;
  double high_share = 0;
};
/// The largest gap between sorted samples with at least a tenth of them on either side, when it is
/// wider than 4 MADs inside the clusters and 2 % of the median; needs twenty samples.
std::optional<TwoModes> two_modes(std::span<const double> samples);

/// Change from the first to the last sample as a fraction of the median: the Theil-Sen slope of up
/// to a hundred block medians, when it exceeds 1 % and Mann and Kendall's test is sure of it
/// (|z| > 3); needs twenty samples.
std::optional<double> drift(std::span<const double> samples);

/// What a table shows beside the Summary.
struct Distribution {
  double p10 = 0, p25 = 0, p75 = 0, p90 = 0;
  std::optional<Interval> median_95;
};
/// `samples` must not be empty.
Distribution describe_distribution(std::span<const double> samples);

}  // namespace kbench
