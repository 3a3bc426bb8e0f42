// Reads a number at an odd address with the processor's alignment check switched on, as processors
// without unaligned access do at any time.
#include <csignal>

#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
#if defined(__x86_64__)
  const char* odd = reinterpret_cast<const char*>(kbench_test::input(call)) + 1;
  __asm__ volatile("pushfq\n orl $0x40000, (%%rsp)\n popfq\n movl (%0), %%eax" ::"r"(odd)
                   : "rax", "cc", "memory");
#else
  static_cast<void>(call);
  std::raise(SIGBUS);
#endif
  return 0;
}

}  // namespace

KBENCH_TEST_PLUGIN("misaligned", KBENCH_ROW_MAJOR);
