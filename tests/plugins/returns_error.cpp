// Fails in the way the interface asks for.
#include <cstdio>

#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  std::snprintf(call->error, call->error_size, "panel %d did not converge", 3);
  return 42;
}

}  // namespace

KBENCH_TEST_PLUGIN("returns_error", KBENCH_ROW_MAJOR);
