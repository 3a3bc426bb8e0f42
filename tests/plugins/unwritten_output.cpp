// Right, but leaves tau of the last matrix as it was.
#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  constexpr std::int64_t k_largest_order = 4096;
  static void* const before = kbench_test::allocate(k_largest_order * sizeof(float));
  const std::int64_t n = kbench_test::order(call);
  if (n > k_largest_order) return 1;
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(float);
  float* last = kbench_test::output(call, 1) + kbench_test::output_count(call, 1) - n;
  kbench_test::copy(call, before, last, bytes);
  const int code = kbench_test::solve(call);
  kbench_test::copy(call, last, before, bytes);
  return code;
}

}  // namespace

KBENCH_TEST_PLUGIN("unwritten_output", KBENCH_ROW_MAJOR);
