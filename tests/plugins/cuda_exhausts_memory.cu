// Right, and takes all of the GPU's memory in its first call.
#include "cuda_plugin.cuh"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  const int code = kbench_test::solve(call);
  for (std::size_t bytes = std::size_t{1} << 40; bytes >= std::size_t{1} << 16;) {
    void* taken = nullptr;
    if (cudaMalloc(&taken, bytes) != cudaSuccess) bytes /= 2;
  }
  cudaGetLastError();  // leaves no trace of its own
  return code;
}

}  // namespace

KBENCH_TEST_PLUGIN("cuda_exhausts_memory", KBENCH_ROW_MAJOR);
