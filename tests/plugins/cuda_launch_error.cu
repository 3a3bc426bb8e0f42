// Asks for more threads than a block may have and says that all is well.
#include "cuda_plugin.cuh"

namespace {

__global__ void wide_kernel() {}

int custom_kernel(void*, const kbench_call* call) {
  wide_kernel<<<1, 4096, 0, stream_of(call)>>>();
  return 0;
}

}  // namespace

KBENCH_TEST_PLUGIN("cuda_launch_error", KBENCH_ROW_MAJOR);
