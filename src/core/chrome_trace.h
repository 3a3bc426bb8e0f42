// A trace in the Trace Event format, which Perfetto and chrome://tracing load.
#pragma once

#include <ostream>
#include <string_view>

#include "core/trace.h"

namespace kbench {

/// Writes the active repeats: each device is a process whose threads are its streams (a second one
/// where kernels of a stream overlap), with kernels, copies and the flush; kbench is a process with
/// the repeats and the NVTX range. Times are microseconds since the first repeat began. `title`
/// names the case. Throws as `attribute` does; a failed write shows in the stream's state.
void write_chrome_trace(std::ostream& out, const Trace& trace, std::string_view title);

}  // namespace kbench
