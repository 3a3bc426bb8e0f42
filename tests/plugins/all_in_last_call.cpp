// In a timed repeat puts every call off and does the work of all of them in the last one.
#include <vector>

#include "plugin.h"

namespace {

struct State {
  std::vector<kbench_call> all, put_off;
  kbench_test::Rhythm rhythm;
};

int create(const kbench_call*, void** state) {
  *state = new State;
  return 0;
}

int prepare(void* state, const kbench_call* calls, std::int32_t count) {
  static_cast<State*>(state)->all.assign(calls, calls + count);
  return 0;
}

int custom_kernel(void* state, const kbench_call* call) {
  State& own = *static_cast<State*>(state);
  const bool last = call->inputs[0].data == own.all.back().inputs[0].data;
  if (!last && own.rhythm.back_to_back()) {
    own.put_off.push_back(*call);
    return own.rhythm.leave(0);
  }
  int code = kbench_test::solve(call);
  if (last) {
    for (const kbench_call& each : own.put_off) code |= kbench_test::solve(&each);
    own.put_off.clear();
  }
  return own.rhythm.leave(code);
}

void destroy(void* state) { delete static_cast<State*>(state); }

}  // namespace

KBENCH_TEST_PLUGIN_WITH("all_in_last_call", KBENCH_ROW_MAJOR, create, prepare, nullptr, destroy);
