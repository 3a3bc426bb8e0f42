// Built for another version of the interface; nothing behind the version may be read.
#include "kbench_kernel.h"

extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {
    KBENCH_ABI_VERSION + 6,
    reinterpret_cast<const char*>(1),
    reinterpret_cast<const char*>(1),
    nullptr,
    -1,
    -1,
    0,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr};
