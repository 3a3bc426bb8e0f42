// Right, but changes one entry of its input afterwards.
#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  const int code = kbench_test::solve(call);
  kbench_test::write(call, kbench_test::input(call), 1000.0f);
  return code;
}

}  // namespace

KBENCH_TEST_PLUGIN("modifies_input", KBENCH_ROW_MAJOR);
