// The table of the variables by which profilers show themselves.
#include "core/profilers.h"

#include <map>

#include "catch.h"

namespace kbench {
namespace {

Profiler find_in(const std::map<std::string, std::string>& environment) {
  return find_profiler([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST_CASE("each profiler is known by its variable, and nothing else is taken for one") {
  struct Row {
    std::map<std::string, std::string> environment;
    std::string tool, name;
  };
  const std::vector<Row> rows = {
      {{}, "", ""},
      {{{"PATH", "/usr/bin"}}, "", ""},
      {{{"CUDA_INJECTION64_PATH", "/a/lib.so"}, {"NVTX_INJECTION64_PATH", "/a/lib.so"}}, "", ""},
      {{{"NSYS_PROFILING_SESSION_ID", "7"}}, "nsys", "Nsight Systems"},
      {{{"NV_COMPUTE_PROFILER_PERFWORKS_DIR", "/x"}}, "ncu", "Nsight Compute"},
      {{{"NV_NSIGHT_INJECTION_PORT_BASE", "49152"}}, "ncu", "Nsight Compute"},
      {{{"NV_SANITIZER_INJECTION_PORT_RANGE_BEGIN", "1"}},
       "compute-sanitizer",
       "Compute Sanitizer"},
      {{{"DG_USE_NVIDIA_TOOLS", "1"}}, "nvidia-tools", "an NVIDIA tool"},
      {{{"NV_SANITIZER_INJECTION_PORT_BASE", "1"}}, "compute-sanitizer", "Compute Sanitizer"},
      {{{"NSYS_PROFILING_SESSION_ID", ""}}, "", ""},
      {{{"DG_USE_NVIDIA_TOOLS", "0"}}, "", ""},
  };
  for (const Row& row : rows) {
    const Profiler found = find_in(row.environment);
    CAPTURE(row.tool);
    CHECK(found.tool == row.tool);
    CHECK(found.name == row.name);
    CHECK(found.variable.empty() == row.tool.empty());
  }
}

TEST_CASE("a tool that shows itself keeps its name beside variables that several tools share") {
  const Profiler nsys =
      find_in({{"NV_NSIGHT_INJECTION_PORT_BASE", "1"}, {"NSYS_PROFILING_SESSION_ID", "7"}});
  CHECK(nsys.tool == "nsys");
  const Profiler ncu =
      find_in({{"DG_USE_NVIDIA_TOOLS", "1"}, {"NV_COMPUTE_PROFILER_PERFWORKS_DIR", "/x"}});
  CHECK(ncu.variable == "NV_COMPUTE_PROFILER_PERFWORKS_DIR");
}

TEST_CASE("a variable that proves nothing is a reason to ask, and only then") {
  const auto hint_in = [](const std::string& name, const std::string& value) {
    return find_hint([&](const char* asked) { return name == asked ? value.c_str() : nullptr; });
  };
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
                           "NV_NSIGHT_INJECTION_TRANSPORT_TYPE", "NV_TPS_LAUNCH_TOKEN"}) {
    CHECK(hint_in(name, "/a/lib.so") == name);
    CHECK(hint_in(name, "") == "");
  }
  CHECK(hint_in("PATH", "/usr/bin") == "");
}

TEST_CASE("a holder that CUPTI names has the name of its tool in results") {
  CHECK(tool_of_holder("Nsight Compute") == "ncu");
  CHECK(tool_of_holder("Nsight Systems") == "nsys");
  CHECK(tool_of_holder("another tool") == "another tool");
}

}  // namespace
}  // namespace kbench
