// Right, and takes every signal for itself: handlers that do nothing, and all of them blocked.
#include <signal.h>

#include "plugin.h"

namespace {

void ignore(int) {}

int custom_kernel(void*, const kbench_call* call) {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, ignore);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  return kbench_test::solve(call);
}

}  // namespace

KBENCH_TEST_PLUGIN("changes_signals", KBENCH_ROW_MAJOR);
