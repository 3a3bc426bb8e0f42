// Right, but changes one entry of its input afterwards.
#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  kbench_test::solve(call);
  kbench_test::input(call)[0] += 1.0f;
  return 0;
}

}  // namespace

KBENCH_TEST_PLUGIN("modifies_input", KBENCH_ROW_MAJOR);
