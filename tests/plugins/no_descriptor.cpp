// A shared object that is no plug-in.
#include "kbench_kernel.h"

extern "C" KBENCH_EXPORT int not_a_kernel() { return 0; }
