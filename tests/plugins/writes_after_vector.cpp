// Right, but writes one float behind tau.
#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  const int code = kbench_test::solve(call);
  float* outside = kbench_test::output(call, 1) + kbench_test::output_count(call, 1);
  kbench_test::write(call, outside, 1.0f);
  return code;
}

}  // namespace

KBENCH_TEST_PLUGIN("writes_after_vector", KBENCH_ROW_MAJOR);
