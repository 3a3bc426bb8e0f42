// The table of the variables that profilers set. Must not know how the environment is read nor what
// follows from a profiler's presence.
#include "core/profilers.h"

#include <array>

namespace kbench {
namespace {

struct Trace {
  const char* variable;
  const char* tool;
  const char* name;
};

// Nsight Systems first: its processes may carry variables of the shared Nsight injection too. The
// user's own word comes last, so that a tool that shows itself keeps its name.
constexpr std::array<Trace, 5> k_traces{{
    {"NSYS_PROFILING_SESSION_ID", "nsys", "Nsight Systems"},
    {"NV_SANITIZER_INJECTION_PORT_RANGE_BEGIN", "compute-sanitizer", "Compute Sanitizer"},
    {"NV_COMPUTE_PROFILER_PERFWORKS_DIR", "ncu", "Nsight Compute"},
    {"NV_NSIGHT_INJECTION_PORT_BASE", "ncu", "Nsight Compute"},
    {"DG_USE_NVIDIA_TOOLS", "nvidia-tools", "an NVIDIA tool"},
}};

}  // namespace

Profiler find_profiler(const VariableLookup& variables) {
  for (const Trace& trace : k_traces) {
    const char* value = variables(trace.variable);
    if (value != nullptr && *value != '\0') return {trace.tool, trace.name, trace.variable};
  }
  return {};
}

}  // namespace kbench
