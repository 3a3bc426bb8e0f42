// Right, H row-major.
#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  kbench_test::solve(call);
  return 0;
}

}  // namespace

KBENCH_TEST_PLUGIN("good_row_major", KBENCH_ROW_MAJOR);
