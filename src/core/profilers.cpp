// The table of the variables that profilers set. Must not know how the environment is read nor what
// follows from a profiler's presence.
#include "core/profilers.h"

#include <array>
#include <string_view>

namespace kbench {
namespace {

struct Trace {
  const char* variable;
  const char* tool;
  const char* name;
};

// Nsight Systems first: its processes may carry variables of the shared Nsight injection too. The
// user's own word comes last, so that a tool that shows itself keeps its name.
constexpr std::array<Trace, 6> k_traces{{
    {"NSYS_PROFILING_SESSION_ID", "nsys", "Nsight Systems"},
    {"NV_SANITIZER_INJECTION_PORT_RANGE_BEGIN", "compute-sanitizer", "Compute Sanitizer"},
    {"NV_SANITIZER_INJECTION_PORT_BASE", "compute-sanitizer", "Compute Sanitizer"},
    {"NV_COMPUTE_PROFILER_PERFWORKS_DIR", "ncu", "Nsight Compute"},
    {"NV_NSIGHT_INJECTION_PORT_BASE", "ncu", "Nsight Compute"},
    {"DG_USE_NVIDIA_TOOLS", "nvidia-tools", "an NVIDIA tool"},
}};

// The first two make the driver load any library; the others are shared by several tools.
constexpr std::array<const char*, 4> k_hints{"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
                                             "NV_NSIGHT_INJECTION_TRANSPORT_TYPE",
                                             "NV_TPS_LAUNCH_TOKEN"};

/// `DG_USE_NVIDIA_TOOLS=0` means no, as the empty value does; no other variable is ever `0`.
bool is_set(const char* value) {
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

}  // namespace

Profiler find_profiler(const VariableLookup& variables) {
  for (const Trace& trace : k_traces) {
    if (is_set(variables(trace.variable))) return {trace.tool, trace.name, trace.variable};
  }
  return {};
}

std::string find_hint(const VariableLookup& variables) {
  for (const char* variable : k_hints) {
    if (is_set(variables(variable))) return variable;
  }
  return "";
}

std::string tool_of_holder(const std::string& name) {
  for (const Trace& trace : k_traces) {
    if (name == trace.name) return trace.tool;
  }
  return name;
}

}  // namespace kbench
