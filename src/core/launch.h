// What a launch costs, and figures that were taken with the launches out of the way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kbench {

/// What the device's clock shows for nothing. 0: not known, or without meaning (the host).
struct LaunchCosts {
  double event_pair_ns = 0;         ///< two events with nothing between them
  double empty_kernel_ns = 0;       ///< and one kernel that does nothing, all enqueued before
  double empty_kernel_idle_ns = 0;  ///< the same, launched while the device waits for it
};

/// `--launch`: the calls as the public evaluator makes them, or a second figure beside that one.
enum class Launch { as_called, queued };

/// How launches were kept from starting before all of them were enqueued.
enum class HoldKind {
  none,   ///< they were not: there is no figure
  hold,   ///< by a kernel that the host releases once the last launch is enqueued
  delay,  ///< by a wait of fixed length in front, which the launches may outlast
};
std::string_view to_string(HoldKind kind);

/// Repeats whose launches were held back.
struct QueuedFigures {
  HoldKind held_by = HoldKind::none;
  std::string reason;              ///< why not by a releasable hold; empty for `hold`
  double delay_ns = 0;             ///< length of the wait in front, of `delay` alone
  std::vector<double> samples_ns;  ///< per custom_kernel call, one a repeat
};

}  // namespace kbench
