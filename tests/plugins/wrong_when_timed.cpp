// Right when it is checked by itself, and gives a different answer in a timed repeat.
#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  static kbench_test::Rhythm rhythm;
  const bool timed = rhythm.back_to_back();
  const int code = kbench_test::solve(call);
  if (timed) kbench_test::write(call, kbench_test::output(call, 0), 1000.0f);
  return rhythm.leave(code);
}

}  // namespace

KBENCH_TEST_PLUGIN("wrong_when_timed", KBENCH_ROW_MAJOR);
