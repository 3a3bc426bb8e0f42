// Never returns, and keeps a core busy meanwhile.
#include <atomic>

#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  static_cast<void>(call);
  for (std::atomic<std::uint64_t> turns{0};; ++turns) {
  }
}

}  // namespace

KBENCH_TEST_PLUGIN("hang", KBENCH_ROW_MAJOR);
