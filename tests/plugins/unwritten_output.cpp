// Right, but leaves tau of the last matrix as it was.
#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  const std::int64_t n = kbench_test::order(call);
  float* last = kbench_test::output(call, 1) + (kbench_test::batch(call) - 1) * n;
  const std::vector<float> before(last, last + n);
  kbench_test::solve(call);
  std::copy(before.begin(), before.end(), last);
  return 0;
}

}  // namespace

KBENCH_TEST_PLUGIN("unwritten_output", KBENCH_ROW_MAJOR);
