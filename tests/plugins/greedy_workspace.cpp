// Asks for more workspace than any machine has.
#include "plugin.h"

namespace {

std::uint64_t workspace_bytes(void*) { return std::uint64_t{1} << 50; }

int custom_kernel(void*, const kbench_call* call) {
  kbench_test::solve(call);
  return 0;
}

}  // namespace

extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {KBENCH_ABI_VERSION,
                                                                         "greedy_workspace",
                                                                         "qr_v2",
                                                                         "test plug-in",
                                                                         KBENCH_HOST,
                                                                         KBENCH_ROW_MAJOR,
                                                                         0,
                                                                         nullptr,
                                                                         workspace_bytes,
                                                                         nullptr,
                                                                         custom_kernel,
                                                                         nullptr,
                                                                         nullptr};
