// Right, then reads an address that does not exist: every later CUDA call of the process fails.
#include "cuda_plugin.cuh"

namespace {

__global__ void lost_kernel(float* out) {
  out[0] = *reinterpret_cast<const float*>(out[0] == 1.5f ? 64 : 32);
}

int custom_kernel(void*, const kbench_call* call) {
  const int code = kbench_test::solve(call);
  lost_kernel<<<1, 1, 0, stream_of(call)>>>(kbench_test::output(call, 1));
  return code;
}

}  // namespace

KBENCH_TEST_PLUGIN("cuda_sticky", KBENCH_ROW_MAJOR);
