// Right, but writes two floats in front of tau.
#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  const int code = kbench_test::solve(call);
  float* outside = kbench_test::output(call, 1) - 2;
  kbench_test::write(call, outside, 1.0f);
  kbench_test::write(call, outside + 1, 1.0f);
  return code;
}

}  // namespace

KBENCH_TEST_PLUGIN("writes_before_vector", KBENCH_ROW_MAJOR);
