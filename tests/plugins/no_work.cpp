// Does no work at all and says that all is well.
#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call*) { return 0; }

}  // namespace

KBENCH_TEST_PLUGIN("no_work", KBENCH_ROW_MAJOR);
