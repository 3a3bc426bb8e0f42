// Right, but for one NaN in H.
#include <limits>

#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  kbench_test::solve(call);
  kbench_test::output(call, 0)[1] = std::numeric_limits<float>::quiet_NaN();
  return 0;
}

}  // namespace

KBENCH_TEST_PLUGIN("nan_output", KBENCH_ROW_MAJOR);
