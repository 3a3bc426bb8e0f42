// Right, and closes every descriptor that it may have inherited.
#include <unistd.h>

#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  const int code = kbench_test::solve(call);
  for (int fd = 3; fd < 64; ++fd) close(fd);
  return code;
}

}  // namespace

KBENCH_TEST_PLUGIN("closes_descriptors", KBENCH_ROW_MAJOR);
