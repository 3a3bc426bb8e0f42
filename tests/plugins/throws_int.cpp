// Lets an exception that is no std::exception cross the C interface.
#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  static_cast<void>(call);
  throw 7;
}

}  // namespace

KBENCH_TEST_PLUGIN("throws_int", KBENCH_ROW_MAJOR);
