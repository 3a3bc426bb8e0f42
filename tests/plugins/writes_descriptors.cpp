// Wrong, and writes a verdict of its own to every descriptor it may have inherited.
#include <unistd.h>

#include <cstring>

#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  static_cast<void>(call);
  const char verdict[] = "check: pass\n";
  for (int fd = 3; fd < 64; ++fd) {
    if (write(fd, verdict, std::strlen(verdict)) < 0) continue;
  }
  return 0;
}

}  // namespace

KBENCH_TEST_PLUGIN("writes_descriptors", KBENCH_ROW_MAJOR);
