// What several workers that ran the same case at the same time came to.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/message.h"
#include "core/stats.h"

namespace kbench {

/// One entry a repeat in each list but `lanes`. The slowest sample of each repeat is what the case
/// is judged by, and stands in its Reply.
struct TogetherFigures {
  struct Lane {
    std::size_t place = 0;  ///< in RunRecord::places
    Reply reply;
    double clock_uncertainty_ns = 0;  ///< of its clock against that of the first lane's machine
  };
  std::vector<Lane> lanes;
  std::vector<double> slowest_ns, fastest_ns, mean_ns;
  /// Between the first and the last start, each taken as the middle of its bracket, and what that
  /// is known to: half of both brackets and what is not known of their clocks.
  std::vector<double> skew_ns, skew_uncertainty_ns;
};

/// The figures over `lanes`, which are not empty. Throws std::runtime_error with words when a lane
/// did not make as many repeats as the first, or told no start of one.
TogetherFigures figures_of(std::vector<TogetherFigures::Lane> lanes);

/// Line of the readable table; `names` of all places.
std::string together_text(const TogetherFigures& figures, const std::vector<std::string>& names);

}  // namespace kbench
