// Blocks of 64 reflectors as the back-transformation applies them, made from the vectors and taus
// of the reduction: FP16 pairs, and the triangular factor of each block.
//
// Q = H_0 H_1 ... is applied from its end. Within a block the order is turned around, so that
// H_a H_(a+1) ... H_(a+63) = (G_0 G_1 ... G_63)^T = I - V T^T V^T with T upper triangular,
// T = D (I + striu(V^T V) D)^-1, D = diag(tau), which needs no case for tau = 0.
#ifndef KBENCH_EIGH_TRIDIAGONAL_REFLECTORS_CUH
#define KBENCH_EIGH_TRIDIAGONAL_REFLECTORS_CUH

#include <cstdint>

#include "primitives.cuh"

namespace tridiagonal {

constexpr int k_block = 64;  // reflectors applied together
/// A matrix row of a block: k_block high parts, then k_block low parts.
constexpr int k_reflector_pitch = 2 * k_block;
constexpr int k_factor_elements = k_block * k_block;

__host__ __device__ constexpr int reflector_blocks(int n) {
  return (n - 1 + k_block - 1) / k_block;
}

/// x = high + low + e, two FP16 numbers for an FP32. For |x| <= 1, as V and normalised vectors
/// are, |e| <= 2^-23 max(|x|, 1/4): the low part of a small x is subnormal.
struct HalfPair {
  std::uint32_t high, low;  // two elements each, the first in the low half
};
__device__ __forceinline__ HalfPair split(float first, float second) {
  const std::uint32_t high = pack_halves(first, second);
  const TwoFloats rounded = unpack_halves(high);
  return {high, pack_halves(first - rounded.first, second - rounded.second)};
}

struct ReflectorTask {
  const float* reflectors;  // [batch, n, n]: v_j in row j, its entries from j + 1 on
  const float* tau;         // [batch, n]
  std::uint16_t* pairs;  // [batch, reflector_blocks, n, k_reflector_pitch]; block b: rows >= 64 b;
                         // null where nobody reads them
  float* factors;        // [batch, reflector_blocks, k_block, k_block]: T, zeros below
  int n;
};

constexpr int k_reflector_threads = 256;

struct ReflectorShared {
  float tile[k_block][k_block + 4];  // [reflector, turned around][matrix row]
  float gram[k_block][k_block + 1];
  float tau[k_block];
};

/// One thread block's view: block `block` of one matrix.
struct ReflectorBlock {
  const ReflectorTask& task;
  ReflectorShared& shared;
  const std::int64_t matrix;
  const int block, thread;

  /// Matrix rows [row, row + 64) of all reflectors into the tile, zeros where a reflector has none.
  __device__ __forceinline__ void load_tile(int row) const {
    const std::int64_t n = task.n;
    for (int k = thread; k < k_block * k_block; k += k_reflector_threads) {
      const int line = k / k_block, i = row + k % k_block;
      const int j = block * k_block + k_block - 1 - line;
      const bool inside = i < task.n && i > j && j < task.n - 1;
      shared.tile[line][k % k_block] = inside ? task.reflectors[(matrix * n + j) * n + i] : 0;
    }
  }

  __device__ __forceinline__ void store_pairs(int row) const {
    const int blocks = reflector_blocks(task.n);
    std::uint16_t* to = task.pairs + (matrix * blocks + block) * task.n * k_reflector_pitch;
    for (int k = thread; k < k_block * k_block / 2; k += k_reflector_threads) {
      const int line = k % (k_block / 2) * 2, i = k / (k_block / 2);
      if (row + i >= task.n) break;
      const HalfPair pair = split(shared.tile[line][i], shared.tile[line + 1][i]);
      std::uint16_t* at = to + static_cast<std::int64_t>(row + i) * k_reflector_pitch + line;
      *reinterpret_cast<std::uint32_t*>(at) = pair.high;
      *reinterpret_cast<std::uint32_t*>(at + k_block) = pair.low;
    }
  }

  /// gram += V^T V over the tile's rows; a thread owns 4 x 4 entries, 16 apart.
  __device__ __forceinline__ void add_gram(float (&gram)[4][4]) const {
    const int row = thread / 16, column = thread % 16;
#pragma unroll 4
    for (int i = 0; i < k_block; ++i) {
      float left[4], right[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        left[k] = shared.tile[row + 16 * k][i];
        right[k] = shared.tile[column + 16 * k][i];
      }
#pragma unroll
      for (int k = 0; k < 16; ++k) gram[k / 4][k % 4] += left[k / 4] * right[k % 4];
    }
  }

  /// Thread j solves for column j of (I + striu(G) D)^-1 by back substitution.
  __device__ __forceinline__ void write_factor() const {
    const int j = thread;
    if (j >= k_block) return;
    float x[k_block];
#pragma unroll
    for (int i = k_block - 1; i >= 0; --i) {
      float sum = i == j ? 1 : 0;
#pragma unroll
      for (int k = i + 1; k < k_block; ++k) sum -= shared.gram[i][k] * x[k];
      x[i] = sum;
    }
    const int blocks = reflector_blocks(task.n);
    float* to = task.factors + (matrix * blocks + block) * k_factor_elements;
#pragma unroll
    for (int i = 0; i < k_block; ++i) to[i * k_block + j] = shared.tau[i] * x[i];
  }

  __device__ __forceinline__ void run() const {
    float gram[4][4] = {};
    for (int row = block * k_block; row < task.n; row += k_block) {
      load_tile(row);
      block_barrier();
      if (task.pairs != nullptr) store_pairs(row);
      add_gram(gram);
      block_barrier();
    }
    if (thread < k_block) {
      const int j = block * k_block + k_block - 1 - thread;
      shared.tau[thread] = j < task.n - 1 ? task.tau[matrix * task.n + j] : 0;
    }
    block_barrier();
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      const int column = thread % 16 + k % 4 * 16;
      shared.gram[thread / 16 + k / 4 * 16][column] = gram[k / 4][k % 4] * shared.tau[column];
    }
    block_barrier();
    write_factor();
  }
};

/// Grid: batch x reflector_blocks.
__global__ void __launch_bounds__(k_reflector_threads)
    prepare_reflectors(const ReflectorTask task) {
  const int blocks = reflector_blocks(task.n);
  const ReflectorBlock block{task, *reinterpret_cast<ReflectorShared*>(shared_memory()),
                             block_index() / blocks, static_cast<int>(block_index() % blocks),
                             thread_index()};
  block.run();
}

}  // namespace tridiagonal

#endif  // KBENCH_EIGH_TRIDIAGONAL_REFLECTORS_CUH
