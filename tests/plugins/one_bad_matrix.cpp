// Right, but for one matrix of the batch.
#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  kbench_test::solve(call);
  const std::int64_t n = kbench_test::order(call);
  kbench_test::output(call, 0)[(kbench_test::batch(call) - 1) * n * n] *= 2.0f;
  return 0;
}

}  // namespace

KBENCH_TEST_PLUGIN("one_bad_matrix", KBENCH_ROW_MAJOR);
