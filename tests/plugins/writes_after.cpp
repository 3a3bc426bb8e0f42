// Right, but writes one float behind H.
#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  kbench_test::solve(call);
  const std::int64_t n = kbench_test::order(call);
  kbench_test::output(call, 0)[kbench_test::batch(call) * n * n] = 1.0f;
  return 0;
}

}  // namespace

KBENCH_TEST_PLUGIN("writes_after", KBENCH_ROW_MAJOR);
