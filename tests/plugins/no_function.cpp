// A descriptor without the one function that is required.
#include "kbench_kernel.h"

extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {KBENCH_ABI_VERSION,
                                                                         "no_function",
                                                                         "qr_v2",
                                                                         "test plug-in",
                                                                         KBENCH_HOST,
                                                                         KBENCH_ROW_MAJOR,
                                                                         0,
                                                                         nullptr,
                                                                         nullptr,
                                                                         nullptr,
                                                                         nullptr,
                                                                         nullptr,
                                                                         nullptr};
