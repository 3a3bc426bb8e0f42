// Stands in for cupti_owner.cpp in a build without CUPTI: a tool may still be there, CUPTI is not.
#include "worker/cupti_owner.h"

namespace kbench {

CuptiState ask_cupti(const VariableLookup& variables) {
  const Profiler profiler = find_profiler(variables);
  if (!profiler.tool.empty()) {
    return {CuptiState::Kind::held, profiler.name, "`" + profiler.variable + "` is set"};
  }
  return {CuptiState::Kind::missing, "", "kbench was built without CUPTI"};
}

}  // namespace kbench
