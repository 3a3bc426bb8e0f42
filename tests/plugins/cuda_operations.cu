// The operations of plugin.h on CUDA that do not depend on the problem.
#include "cuda_plugin.cuh"

namespace {

__global__ void write_kernel(float* to, float value) { *to = value; }

}  // namespace

namespace kbench_test {

void copy(const kbench_call* call, void* to, const void* from, std::size_t bytes) {
  cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_of(call));
}

void write(const kbench_call* call, float* to, float value) {
  write_kernel<<<1, 1, 0, stream_of(call)>>>(to, value);
}

void read(const kbench_call* call, void* to, const void* from, std::size_t bytes) {
  cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_of(call));
  cudaStreamSynchronize(stream_of(call));
}

void* allocate(std::size_t bytes) {
  void* data = nullptr;
  return cudaMalloc(&data, bytes) == cudaSuccess ? data : nullptr;
}

}  // namespace kbench_test
