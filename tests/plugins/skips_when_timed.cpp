// Right when it is checked by itself, and leaves its outputs unwritten in a timed repeat.
#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  static kbench_test::Rhythm rhythm;
  const int code = rhythm.back_to_back() ? 0 : kbench_test::solve(call);
  return rhythm.leave(code);
}

}  // namespace

KBENCH_TEST_PLUGIN("skips_when_timed", KBENCH_ROW_MAJOR);
