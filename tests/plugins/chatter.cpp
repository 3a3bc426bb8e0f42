// Right, and prints far more than a pipe holds on stdout and stderr.
#include <cstdio>

#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  kbench_test::solve(call);
  for (int line = 0; line < 4000; ++line) {
    std::printf("benchmark.%d.status: pass and other chatter on stdout\n", line);
    std::fprintf(stderr, "check: pass and other chatter on stderr, line %d\n", line);
  }
  std::fflush(stdout);
  return 0;
}

}  // namespace

KBENCH_TEST_PLUGIN("chatter", KBENCH_ROW_MAJOR);
