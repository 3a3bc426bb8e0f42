// Never finishes on the GPU.
#include "cuda_plugin.cuh"

namespace {

__global__ void hang_kernel(volatile float* out) {
  while (out[0] != 1.5f) {
  }
}

int custom_kernel(void*, const kbench_call* call) {
  hang_kernel<<<1, 1, 0, stream_of(call)>>>(kbench_test::output(call, 1));
  return 0;
}

}  // namespace

KBENCH_TEST_PLUGIN("cuda_hang_on_gpu", KBENCH_ROW_MAJOR);
