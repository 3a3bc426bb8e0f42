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
#define __global__ inline
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

inline void count_one(unsigned* counter) { ++*counter; }

template <class T>
void store_twin(T* local, int rank, const T& value) {
  *static_cast<T*>(kbench::emulated::twin(local, rank)) = value;
}

/// Carried out at once; a device may take until copy_wait.
inline void copy_async(void* to, const void* from, bool valid) {
  if (valid) {
    std::memcpy(to, from, 16);
  } else {
    std::memset(to, 0, 16);
  }
}
inline void copy_commit() {}
template <int Pending>
void copy_wait() {}

/// What lane l receives of tile t: elements first and first + step of the row it names, in the four
/// tiles whose rows the lanes 8 t .. 8 t + 7 name.
inline void load_tiles(std::uint32_t (&tile)[4], const void* row) {
  const auto rows = gather(row);
  const int lane = thread_index() % 32;
  for (int t = 0; t < 4; ++t) {
    const auto* from =
        static_cast<const std::uint16_t*>(rows[static_cast<std::size_t>(8 * t + lane / 4)]);
    tile[t] = from[lane % 4 * 2] | std::uint32_t{from[lane % 4 * 2 + 1]} << 16;
  }
}
inline void load_tiles_transposed(std::uint32_t (&tile)[4], const void* row) {
  const auto rows = gather(row);
  const int lane = thread_index() % 32;
  const auto element = [&](int t, int i) {
    return static_cast<const std::uint16_t*>(rows[static_cast<std::size_t>(8 * t + i)])[lane / 4];
  };
  for (int t = 0; t < 4; ++t) {
    tile[t] = element(t, lane % 4 * 2) | std::uint32_t{element(t, lane % 4 * 2 + 1)} << 16;
  }
}

// _Float16 rounds to nearest, subnormals included, as the device does.
inline std::uint32_t pack_halves(float first, float second) {
  const _Float16 halves[2] = {static_cast<_Float16>(first), static_cast<_Float16>(second)};
  std::uint32_t packed;
  std::memcpy(&packed, halves, sizeof packed);
  return packed;
}
struct TwoFloats {
  float first, second;
};
inline TwoFloats unpack_halves(std::uint32_t packed) {
  _Float16 halves[2];
  std::memcpy(halves, &packed, sizeof packed);
  return {static_cast<float>(halves[0]), static_cast<float>(halves[1])};
}

/// m16n8k16 with the fragment layout of the instruction, products summed in FP32.
inline void multiply_add(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                         std::uint32_t b1) {
  const auto all = gather(std::array<std::uint32_t, 6>{a[0], a[1], a[2], a[3], b0, b1});
  const int lane = thread_index() % 32;
  for (int k = 0; k < 4; ++k) {  // pairs of the inner dimension, and those eight further on
    for (int side = 0; side < 2; ++side) {
      TwoFloats left[2], right[2];
      for (int i = 0; i < 2; ++i) {
        const auto& row = all[static_cast<std::size_t>(lane / 4 * 4 + k)];
        const auto& column = all[static_cast<std::size_t>((lane % 4 * 2 + i) * 4 + k)];
        left[i] = unpack_halves(row[static_cast<std::size_t>(i + side * 2)]);
        right[i] = unpack_halves(column[static_cast<std::size_t>(4 + side)]);
      }
      for (int value = 0; value < 4; ++value) {
        const TwoFloats &x = left[value / 2], &y = right[value % 2];
        d[value] += x.first * y.first + x.second * y.second;
      }
    }
  }
}

}  // namespace tridiagonal
