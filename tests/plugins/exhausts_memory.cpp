// Right, and leaves the process no memory: none that it has, and no more from the system.
#include <sys/resource.h>

#include <cstdlib>

#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  const int code = kbench_test::solve(call);
  const rlimit none{0, 0};
  if (setrlimit(RLIMIT_AS, &none) != 0) return 1;
  for (std::size_t bytes = std::size_t{1} << 30; bytes >= 16; bytes /= 2) {
    while (void* const taken = std::malloc(bytes)) {
      // Kept, and known to the compiler to be.
      __asm__ volatile("" : : "r"(taken) : "memory");
    }
  }
  return code;
}

}  // namespace

KBENCH_TEST_PLUGIN("exhausts_memory", KBENCH_ROW_MAJOR);
