// Right, then reads a number on the GPU at an address that is not a multiple of its size.
#include "cuda_plugin.cuh"

namespace {

__global__ void odd_kernel(float* out) {
  const char* odd = reinterpret_cast<const char*>(out) + 1;
  out[0] = *reinterpret_cast<const volatile float*>(odd);
}

int custom_kernel(void*, const kbench_call* call) {
  const int code = kbench_test::solve(call);
  odd_kernel<<<1, 1, 0, stream_of(call)>>>(kbench_test::output(call, 1));
  return code;
}

}  // namespace

KBENCH_TEST_PLUGIN("cuda_misaligned", KBENCH_ROW_MAJOR);
