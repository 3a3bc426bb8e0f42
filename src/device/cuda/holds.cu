// Kernels that keep the stream waiting: until the host lets go, or for a fixed time. One thread
// each, asleep most of the time, so that they take no power worth naming.
#include <cuda_runtime.h>

#include "device/cuda/launches.h"

namespace kbench::cuda {
namespace {

__device__ std::uint64_t global_ns() {
  std::uint64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

// The words lie in the host's memory: volatile reads go past every cache. Tickets only grow, so a
// release that comes before the kernel starts is not lost.
__global__ void hold(volatile HoldWords* words, std::uint32_t ticket, std::uint64_t limit_ns) {
  const std::uint64_t begin = global_ns();
  while (static_cast<std::int32_t>(words->opened - ticket) < 0) {
    if (global_ns() - begin > limit_ns) {
      words->expired = ticket;
      __threadfence_system();  // the host reads `left` first
      break;
    }
    __nanosleep(200);
  }
  words->left = ticket;
}

__global__ void wait(std::uint64_t ns) {
  const std::uint64_t begin = global_ns();
  while (global_ns() - begin < ns) __nanosleep(200);
}

}  // namespace

cudaError_t launch_hold(cudaStream_t stream, HoldWords* words, std::uint32_t ticket,
                        std::uint64_t limit_ns) {
  hold<<<1, 1, 0, stream>>>(words, ticket, limit_ns);
  return cudaGetLastError();
}

cudaError_t launch_wait(cudaStream_t stream, std::uint64_t ns) {
  wait<<<1, 1, 0, stream>>>(ns);
  return cudaGetLastError();
}

}  // namespace kbench::cuda
