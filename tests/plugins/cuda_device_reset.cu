// Right, then resets the device: the context of the process and every handle in it are gone.
#include "cuda_plugin.cuh"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  const int code = kbench_test::solve(call);
  cudaDeviceReset();
  return code;
}

}  // namespace

KBENCH_TEST_PLUGIN("cuda_device_reset", KBENCH_ROW_MAJOR);
