// In a timed repeat right in the last call only, for an evaluator that checks no other.
#include "plugin.h"

namespace {

const void* last_input = nullptr;

int prepare(void*, const kbench_call* calls, std::int32_t count) {
  last_input = calls[count - 1].inputs[0].data;
  return 0;
}

int custom_kernel(void*, const kbench_call* call) {
  static kbench_test::Rhythm rhythm;
  const bool wrong = rhythm.back_to_back() && call->inputs[0].data != last_input;
  const int code = kbench_test::solve(call);
  if (wrong) kbench_test::write(call, kbench_test::output(call, 1), -1.0f);
  return rhythm.leave(code);
}

}  // namespace

KBENCH_TEST_PLUGIN_WITH("only_last_right", KBENCH_ROW_MAJOR, nullptr, prepare, nullptr, nullptr);
