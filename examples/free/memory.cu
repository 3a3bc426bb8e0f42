// Reads, or writes, `mib` MiB of its own data once: `mib: 32; write: 0`. For looking at what a
// cache flush does to kernels that are bound by memory.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>

#include "kbench_kernel.h"

namespace {

struct Memory {
  uint4* data = nullptr;
  std::uint32_t* sink = nullptr;
  std::int64_t count = 0;
  bool write = false;
};

__global__ void read_all(const uint4* data, std::int64_t count, std::uint32_t* sink) {
  std::uint32_t sum = 0;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    const uint4 word = data[i];
    sum += word.x ^ word.y ^ word.z ^ word.w;
  }
  // Keeps the loads: the data are zeros, so nothing is stored.
  if (sum != 0) *sink = sum;
}

__global__ void write_all(uint4* data, std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    data[i] = make_uint4(0, 0, 0, 0);
  }
}

void destroy(void* state) {
  Memory* memory = static_cast<Memory*>(state);
  cudaFree(memory->data);
  cudaFree(memory->sink);
  delete memory;
}

int create(const kbench_call* call, void** state) {
  const std::int64_t bytes = kbench_parameter_or(call, "mib", 32) << 20;
  Memory* memory = new Memory;
  memory->count = bytes / static_cast<std::int64_t>(sizeof(uint4));
  memory->write = kbench_parameter_or(call, "write", 0) != 0;
  if (cudaMalloc(&memory->data, static_cast<std::size_t>(bytes)) != cudaSuccess ||
      cudaMalloc(&memory->sink, sizeof(std::uint32_t)) != cudaSuccess ||
      cudaMemset(memory->data, 0, static_cast<std::size_t>(bytes)) != cudaSuccess) {
    std::snprintf(call->error, call->error_size, "allocating %lld bytes (%s)",
                  static_cast<long long>(bytes), cudaGetErrorString(cudaGetLastError()));
    destroy(memory);
    return 1;
  }
  call->work->bytes = static_cast<double>(bytes);
  *state = memory;
  return 0;
}

int custom_kernel(void* state, const kbench_call* call) {
  const Memory& memory = *static_cast<const Memory*>(state);
  const cudaStream_t stream = static_cast<cudaStream_t>(call->stream);
  if (memory.write) {
    write_all<<<1056, 256, 0, stream>>>(memory.data, memory.count);
  } else {
    read_all<<<1056, 256, 0, stream>>>(memory.data, memory.count, memory.sink);
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}

}  // namespace

extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {
    KBENCH_ABI_VERSION,
    "memory",
    "free",
    "reads or writes `mib` MiB",
    KBENCH_CUDA,
    KBENCH_ROW_MAJOR,
    0,
    create,
    nullptr,
    nullptr,
    custom_kernel,
    nullptr,
    destroy};
