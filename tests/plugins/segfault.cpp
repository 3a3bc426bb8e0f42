// Dies of SIGSEGV inside the call.
#include <csignal>

#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  static_cast<void>(call);
  std::raise(SIGSEGV);
  return 0;
}

}  // namespace

KBENCH_TEST_PLUGIN("segfault", KBENCH_ROW_MAJOR);
