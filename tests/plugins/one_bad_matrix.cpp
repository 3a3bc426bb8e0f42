// Right, but for one entry of the last matrix of the batch.
#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  const int code = kbench_test::solve(call);
  const std::int64_t n = kbench_test::order(call);
  float* last = kbench_test::output(call, 0) + kbench_test::matrix_count(call) - n * n;
  kbench_test::write(call, last, 1000.0f);
  return code;
}

}  // namespace

KBENCH_TEST_PLUGIN("one_bad_matrix", KBENCH_ROW_MAJOR);
