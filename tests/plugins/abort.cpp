// Dies of SIGABRT inside the call.
#include <cstdlib>

#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  static_cast<void>(call);
  std::abort();
}

}  // namespace

KBENCH_TEST_PLUGIN("abort", KBENCH_ROW_MAJOR);
