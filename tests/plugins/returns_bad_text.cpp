// Fails with a message that is invalid UTF-8, too long and not NUL-terminated.
#include <cstring>

#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  std::memset(call->error, 0xFE, call->error_size);
  return 5;
}

}  // namespace

KBENCH_TEST_PLUGIN("returns_bad_text", KBENCH_ROW_MAJOR);
