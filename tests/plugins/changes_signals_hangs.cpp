// Takes every signal for itself and never returns.
#include <signal.h>

#include <atomic>

#include "plugin.h"

namespace {

void ignore(int) {}

int custom_kernel(void*, const kbench_call*) {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, ignore);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  for (std::atomic<std::uint64_t> turns{0};; ++turns) {
  }
}

}  // namespace

KBENCH_TEST_PLUGIN("changes_signals_hangs", KBENCH_ROW_MAJOR);
