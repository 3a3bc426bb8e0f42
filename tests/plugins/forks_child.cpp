// Right, and leaves a child of its own session that lives on with every descriptor it inherited.
#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  static bool forked = false;
  if (forked) return kbench_test::solve(call);
  forked = true;
  const pid_t child = fork();
  if (child < 0) return 1;
  if (child == 0) {
    setsid();
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::signal(signal, SIG_IGN);
    for (;;) pause();
  }
  std::fprintf(stderr, "child %d\n", static_cast<int>(child));
  return kbench_test::solve(call);
}

}  // namespace

KBENCH_TEST_PLUGIN("forks_child", KBENCH_ROW_MAJOR);
