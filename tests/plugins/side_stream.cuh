// What the test plug-ins with a second stream share. The stream does not wait for the default one,
// nor that for it.
#pragma once

#include "cuda_plugin.cuh"

constexpr long long k_spin_ns = 200'000;

/// Occupies one thread for so many nanoseconds.
__device__ inline void spin(long long duration_ns) {
  long long begin = 0, now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < duration_ns);
}
extern "C" __global__ void spin_kernel(long long duration_ns) { spin(duration_ns); }

struct SideStream {
  cudaStream_t stream = nullptr;
  cudaEvent_t fork = nullptr;
  kbench_test::Rhythm rhythm;
};

inline int make_side_stream(const kbench_call*, void** state) {
  auto* own = new SideStream;
  *state = own;
  const bool made = cudaStreamCreateWithFlags(&own->stream, cudaStreamNonBlocking) == cudaSuccess &&
                    cudaEventCreateWithFlags(&own->fork, cudaEventDisableTiming) == cudaSuccess;
  return made ? 0 : 1;
}

inline void destroy_side_stream(void* state) {
  auto* own = static_cast<SideStream*>(state);
  cudaEventDestroy(own->fork);
  cudaStreamDestroy(own->stream);
  delete own;
}

/// The second stream begins where the first one stands.
inline void fork_side_stream(const SideStream& own, const kbench_call* call) {
  cudaEventRecord(own.fork, stream_of(call));
  cudaStreamWaitEvent(own.stream, own.fork, 0);
}

/// The same call on the second stream.
inline int launch_aside(const SideStream& own, const kbench_call* call) {
  kbench_call aside = *call;
  aside.stream = own.stream;
  return kbench_test::solve(&aside);
}

#define KBENCH_SIDE_STREAM_PLUGIN(name)                                               \
  KBENCH_TEST_PLUGIN_WITH(name, KBENCH_ROW_MAJOR, make_side_stream, nullptr, nullptr, \
                          destroy_side_stream)
