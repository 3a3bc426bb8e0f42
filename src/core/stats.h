// Statistics of samples and the stop rule of the measured loop. Fed with numbers; no clock inside.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace kbench {

/// std has n - 1 in the denominator (0 for one sample); err = std / sqrt(runs).
struct Summary {
  std::int64_t runs = 0;
  double mean = 0, std = 0, err = 0, best = 0, worst = 0, median = 0;
};

/// `samples` must not be empty.
Summary summarize(std::span<const double> samples);

/// exp(mean(log x)); NaN when a value is not finite or not positive, or there is none.
double geometric_mean(std::span<const double> values);

struct StopLimits {
  std::int64_t max_repeats = 0;
  double budget_ns = 0;  ///< stop when mean * runs exceeds it
};

/// Why a measured loop ended.
enum class StopReason { none, precise, budget, wall, repeats };
std::string_view to_string(StopReason reason);

/// Ends a loop at `max_repeats`, or once 3 repeats and 0.1 s of wall time have passed and
/// err / mean < 0.001, mean * runs > budget, or the wall time exceeds 120 s.
class StopRule {
 public:
  explicit StopRule(StopLimits limits) : limits_(limits) {}
  /// Takes one sample and the wall time since the loop began; answers whether and why to stop.
  StopReason add(double sample_ns, double wall_s);

 private:
  StopLimits limits_;
  std::int64_t runs_ = 0;
  double mean_ = 0, m2_ = 0;
};

/// Repeats after which a StopRule would end, judged by `runs` of them that took `wall_s` seconds:
/// the error shrinks with the root of their number, time per repeat stays.
double expected_repeats(StopLimits limits, std::int64_t runs, double mean, double err,
                        double wall_s);

}  // namespace kbench
