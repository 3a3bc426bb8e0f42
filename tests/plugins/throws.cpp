// Lets a C++ exception cross the C interface.
#include <stdexcept>

#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  static_cast<void>(call);
  throw std::runtime_error("no panel left");
}

}  // namespace

KBENCH_TEST_PLUGIN("throws", KBENCH_ROW_MAJOR);
