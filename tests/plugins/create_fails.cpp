// Refuses every shape before the first call.
#include <cstdio>

#include "plugin.h"

namespace {

int create(const kbench_call* shapes, void**) {
  std::snprintf(shapes->error, shapes->error_size, "n must be 33");
  return 9;
}

int custom_kernel(void*, const kbench_call*) { return 0; }

}  // namespace

extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {KBENCH_ABI_VERSION,
                                                                         "create_fails",
                                                                         "qr_v2",
                                                                         "test plug-in",
                                                                         KBENCH_HOST,
                                                                         KBENCH_ROW_MAJOR,
                                                                         0,
                                                                         create,
                                                                         nullptr,
                                                                         nullptr,
                                                                         custom_kernel,
                                                                         nullptr,
                                                                         nullptr};
