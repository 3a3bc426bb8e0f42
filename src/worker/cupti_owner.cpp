// Asks who holds CUPTI. Must not know what it would be used for.
#include "worker/cupti_owner.h"

#include <fmt/format.h>

#include "core/error.h"
#include "worker/cupti_library.h"

namespace kbench {

CuptiState ask_cupti(const VariableLookup& variables) {
  using Kind = CuptiState::Kind;
  const Profiler profiler = find_profiler(variables);
  if (!profiler.tool.empty()) {
    return {Kind::held, profiler.name, fmt::format("`{}` is set", profiler.variable)};
  }
  std::string why;
  const CuptiCalls* calls = cupti_calls(&why);
  if (calls == nullptr) return {Kind::missing, "", why};
  std::string holder;
  try {
    const CuptiSubscription moment(*calls, &holder);
  } catch (const Error& error) {
    return {holder.empty() ? Kind::missing : Kind::held, holder, error.what()};
  }
  return {Kind::available, "", ""};
}

}  // namespace kbench
