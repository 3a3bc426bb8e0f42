// Stands in for kernels/eigh_py/tridiagonal/primitives.cuh, whose include guard it takes: the same
// functions on the emulated machine. To be included before any kernel source.
#pragma once
#define KBENCH_EIGH_TRIDIAGONAL_PRIMITIVES_CUH

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "machine.h"

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct alignas(16) float4 {
  float x, y, z, w;
};

namespace tridiagonal {

using kbench::emulated::block_barrier;
using kbench::emulated::block_index;
using kbench::emulated::cluster_barrier;
using kbench::emulated::shared_memory;
using kbench::emulated::thread_index;

template <class T>
std::array<T, 32> gather(const T& mine) {
  std::array<T, 32> all;
  kbench::emulated::exchange(&mine, sizeof mine, all.data());
  return all;
}
inline void warp_barrier() { gather(char{}); }

template <class T>
T shuffle_xor(T value, int mask) {
  return gather(value)[static_cast<std::size_t>(thread_index() % 32 ^ mask)];
}

inline std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float float_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

template <class T>
void store_twin(T* local, int rank, const T& value) {
  *static_cast<T*>(kbench::emulated::twin(local, rank)) = value;
}

}  // namespace tridiagonal
