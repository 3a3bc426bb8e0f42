// The modes of the evaluator contract as one visible table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/stats.h"

namespace kbench {

enum class ModeId { test, benchmark, leaderboard, profile, trace };
enum class WarmUp { none, first_case, every_case };

struct Mode {
  ModeId id;
  std::string_view name;
  bool uses_tests;       ///< rows of `tests:` of a task file, else of `benchmarks:`
  bool only_first_case;  ///< profile
  bool measures;         ///< repeats are timed; otherwise one call on one input
  WarmUp warm_up;
  StopLimits warm_up_limits;
  StopLimits limits;
  bool stop_after_failure;  ///< a failed case ends the remaining cases of its problem
};

std::span<const Mode> modes();
/// Row of the table by name, nullptr when there is none.
const Mode* find_mode(std::string_view name);

}  // namespace kbench
