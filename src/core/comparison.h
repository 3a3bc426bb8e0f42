// Which of two kernels is faster: what their paired times say, and when enough pairs are taken. Fed
// with numbers; no clock and no kernel inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/distribution.h"
#include "core/stats.h"

namespace kbench {

/// The intervals of one run all hold together with this probability.
constexpr double k_run_level = 0.99;

/// Level of each of `comparisons` intervals that hold together with k_run_level (Bonferroni).
double level_of_each(std::int64_t comparisons);

/// Level of each of the two intervals that a quotient of level `level` is made of.
double each_of_two(double level);

/// Fewest pairs for which an interval of that level exists.
std::int64_t least_pairs(double level);

/// Who has which turn in round `round` (from 0) of `arms` kernels. Every two rounds mirror each
/// other (A B, B A), and the kernel that begins moves on, so that neither a drift nor the place in
/// a round favours one of them.
std::vector<std::size_t> order_of_round(std::int64_t round, std::size_t arms);

/// Time of one kernel over the time of another; below 1 the first is the faster one.
struct Ratio {
  double value = 1;                  ///< exp(median of the log ratios)
  std::optional<Interval> interval;  ///< by the sign test; absent with too few pairs
};

/// Of pairs of times; `log_ratios` holds log(t_b / t_a) of each, at least one.
Ratio ratio_of_pairs(std::span<const double> log_ratios, double level);

/// The geometric mean of ratios whose intervals all hold together: its bounds are the geometric
/// means of their bounds, where all have them. At least one ratio.
Ratio mean_ratio(std::span<const Ratio> ratios);

enum class RatioVerdict { faster, slower, same, undecided };
std::string_view to_string(RatioVerdict verdict);

/// `same`: kernels whose times differ by less than that fraction count as equal: the zone is
/// [1 / (1 + same), 1 + same]. The whole interval inside it: same. All of it below or above: faster
/// or slower. Else, or without an interval: undecided.
RatioVerdict judge_ratio(const Ratio& ratio, double same);

/// True when the whole interval lies above 1 + fraction.
bool is_slower_by(const Ratio& ratio, double fraction);

/// Ends the rounds of a case. The number of rounds never depends on who leads, only on how narrow
/// the intervals are, so that it cannot make a winner out of noise.
class RoundRule {
 public:
  /// `challengers`: kernels compared with the first one. `exact` > 0: that many rounds.
  RoundRule(std::size_t challengers, double level, double same, std::int64_t exact);

  /// Takes the log ratio of each challenger in the round just made and the wall time since the
  /// first; answers whether and why to stop.
  StopReason add(std::span<const double> log_ratios, double wall_s);

  std::span<const double> log_ratios(std::size_t challenger) const { return ratios_[challenger]; }

  /// Wall time until the rounds end at the latest, when each takes as long as those so far, of
  /// which there is one at least.
  double most_left_s(double wall_s) const;

 private:
  bool is_precise() const;

  std::vector<std::vector<double>> ratios_;
  double level_;
  double half_width_;  // of the logarithm of a ratio
  std::int64_t least_;
  std::int64_t exact_;
};

}  // namespace kbench
