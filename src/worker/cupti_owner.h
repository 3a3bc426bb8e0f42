// Who holds CUPTI, the CUDA driver's profiling interface, in this process. It serves one client at
// a time, and a profiler from outside always goes first.
#pragma once

#include "core/profilers.h"

namespace kbench {

/// The environment is asked first: when a variable of a tool is set, CUPTI is not touched at all.
/// Otherwise CUPTI is loaded and subscribed to for a moment, which has the last word. Call it once
/// a CUDA device is open: without a driver the answer would have no meaning.
CuptiState ask_cupti(const VariableLookup& variables);

}  // namespace kbench
