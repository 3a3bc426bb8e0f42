// Right, and loses 64 KiB of the device's memory in each call.
#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  constexpr std::size_t k_lost_bytes = std::size_t{64} << 10;
  if (kbench_test::allocate(k_lost_bytes) == nullptr) return 1;
  return kbench_test::solve(call);
}

}  // namespace

KBENCH_TEST_PLUGIN("leaks", KBENCH_ROW_MAJOR);
