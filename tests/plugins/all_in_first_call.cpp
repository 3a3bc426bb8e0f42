// Does the work of all calls of a repeat in its first one; the others return at once.
#include <vector>

#include "plugin.h"

namespace {

using Calls = std::vector<kbench_call>;

int create(const kbench_call*, void** state) {
  *state = new Calls;
  return 0;
}

int prepare(void* state, const kbench_call* calls, std::int32_t count) {
  static_cast<Calls*>(state)->assign(calls, calls + count);
  return 0;
}

int custom_kernel(void* state, const kbench_call* call) {
  const Calls& all = *static_cast<Calls*>(state);
  if (call->inputs[0].data != all.front().inputs[0].data) return 0;
  for (const kbench_call& each : all) {
    if (const int code = kbench_test::solve(&each)) return code;
  }
  return 0;
}

void destroy(void* state) { delete static_cast<Calls*>(state); }

}  // namespace

KBENCH_TEST_PLUGIN_WITH("all_in_first_call", KBENCH_ROW_MAJOR, create, prepare, nullptr, destroy);
