// Who holds CUPTI, the CUDA driver's profiling interface, in this process. It serves one client at
// a time, and a profiler from outside always goes first.
#pragma once

#include <string>

#include "core/profilers.h"

namespace kbench {

struct CuptiState {
  enum class Kind {
    available,  ///< kbench may subscribe
    held,       ///< a tool has it: kbench leaves it alone
    missing     ///< there is none: no CUDA, no library, or one of another version
  } kind = Kind::missing;
  std::string holder;  ///< when held: `Nsight Compute`, as the tool or CUPTI names it
  std::string reason;  ///< when not available: how that is known, in words
};

/// The environment is asked first: when a variable of a tool is set, CUPTI is not touched at all.
/// Otherwise CUPTI is loaded and subscribed to for a moment, which has the last word. Call it once
/// a CUDA device is open: without a driver the answer would have no meaning.
CuptiState ask_cupti(const Variables& variables);

}  // namespace kbench
