// Right, but writes two floats in front of tau.
#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  kbench_test::solve(call);
  kbench_test::output(call, 1)[-1] = 1.0f;
  kbench_test::output(call, 1)[-2] = 1.0f;
  return 0;
}

}  // namespace

KBENCH_TEST_PLUGIN("writes_before", KBENCH_ROW_MAJOR);
