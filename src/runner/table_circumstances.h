// Lines of the readable table about what a launch costs and about queued repeats.
#pragma once

#include <string>

#include "core/launch.h"

namespace kbench {

/// `; nothing between two events 1.28 us, an empty kernel 2.7 us (5.4 us on an idle device)`, or
/// empty where it is not known.
std::string launch_costs_text(const LaunchCosts& costs);

/// `queued: 12.1 us median, 11.9 us best of 50 (...)`: the figure and how it was come by, or why
/// there is none.
std::string queued_text(const QueuedFigures& queued);

}  // namespace kbench
