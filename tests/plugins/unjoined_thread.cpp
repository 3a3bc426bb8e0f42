// In a timed repeat the last call returns at once, and a thread does its work a little later.
#include <thread>

#include "plugin.h"

namespace {

struct State {
  const void* last_input = nullptr;
  kbench_test::Rhythm rhythm;
  std::thread late;
};

int create(const kbench_call*, void** state) {
  *state = new State;
  return 0;
}

int prepare(void* state, const kbench_call* calls, std::int32_t count) {
  static_cast<State*>(state)->last_input = calls[count - 1].inputs[0].data;
  return 0;
}

int custom_kernel(void* state, const kbench_call* call) {
  State& own = *static_cast<State*>(state);
  if (own.late.joinable()) own.late.join();
  if (call->inputs[0].data != own.last_input || !own.rhythm.back_to_back()) {
    return own.rhythm.leave(kbench_test::solve(call));
  }
  own.late = std::thread([call] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    kbench_test::solve(call);
  });
  return own.rhythm.leave(0);
}

void destroy(void* state) {
  State* own = static_cast<State*>(state);
  if (own->late.joinable()) own->late.join();
  delete own;
}

}  // namespace

KBENCH_TEST_PLUGIN_WITH("unjoined_thread", KBENCH_ROW_MAJOR, create, prepare, nullptr, destroy);
