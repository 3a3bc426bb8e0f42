// Figures of a measured case that follow from its record, and times as people read them: one unit,
// and no digit that the interval does not support.
#pragma once

#include <optional>
#include <string>

#include "runner/record.h"

namespace kbench {

struct TimeUnit {
  double ns;
  const char* name;
};
/// ns, us, ms or s: the largest that is not above `ns`.
TimeUnit unit_of(double ns);

/// Decimals that show `value` down to the place of the first digit of `uncertainty`, the second one
/// where the first is 1 or 2, with at most five significant digits; negative: tens and hundreds are
/// rounded too. Four significant digits when the uncertainty is 0 or no number.
int decimals_for(double value, double uncertainty);
/// `value` with so many decimals (see decimals_for).
std::string fixed(double value, int decimals);

/// `2.748 us`, four significant digits.
std::string format_time(double ns);
/// `12.3 us ± 0.4 us`, with the unit that suits the mean; without a `±` where the error is 0, as
/// that of one sample is.
std::string format_mean(double mean_ns, double err_ns);

/// Half-width of the median's 95 % interval in ns; the standard error where there is no interval.
double uncertainty_of(const CaseRecord& row);

/// By the problem's nominal counts and the median; empty when either is not known.
std::optional<double> tflop_per_s(const CaseRecord& row);
std::optional<double> gb_per_s(const CaseRecord& row);
/// Floor over median: 1 is the best that the device can do. Empty when the floor is not known.
std::optional<double> floor_share(const CaseRecord& row);

}  // namespace kbench
