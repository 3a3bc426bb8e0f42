// Right, and switches subnormal numbers off when it is loaded and in each call, as a plug-in linked
// with -ffast-math does.
#include "plugin.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace {

void flush_subnormals() {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(std::uint64_t{1} << 24));
#endif
}

__attribute__((constructor)) void loaded() { flush_subnormals(); }

int custom_kernel(void*, const kbench_call* call) {
  kbench_test::solve(call);
  flush_subnormals();
  return 0;
}

}  // namespace

KBENCH_TEST_PLUGIN("flushes_subnormals", KBENCH_ROW_MAJOR);
