// Traps on the GPU.
#include "cuda_plugin.cuh"

namespace {

__global__ void trap_kernel() { __trap(); }

int custom_kernel(void*, const kbench_call* call) {
  trap_kernel<<<1, 1, 0, stream_of(call)>>>();
  return 0;
}

}  // namespace

KBENCH_TEST_PLUGIN("cuda_trap", KBENCH_ROW_MAJOR);
