// The back-transformation of back_transform.cuh with nothing but FP32: every product is summed by
// fused multiply-adds of the reflectors as the reduction left them. Three times slower; it is what
// the `precise` kernel applies to all matrices, and the fast one to those that were solved twice.
#ifndef KBENCH_EIGH_TRIDIAGONAL_BACK_TRANSFORM_PLAIN_CUH
#define KBENCH_EIGH_TRIDIAGONAL_BACK_TRANSFORM_PLAIN_CUH

#include "reflectors.cuh"

namespace tridiagonal {

constexpr int k_plain_side = 64;  // columns of C that a thread block owns, and rows of a tile
constexpr int k_plain_threads = 256;
constexpr int k_plain_pitch = k_plain_side + 4;

struct PlainTask {
  float* vectors;           // [batch, n, n] row-major, in place
  const float* norms;       // [batch, n]
  const float* reflectors;  // as ReduceTask has them
  const float* factors;     // as ReflectorTask has them
  const unsigned* flags;    // [batch]; null: every matrix, else those that are flagged
  int n;
  int strips;  // of k_plain_side columns
};

struct PlainShared {
  float left[k_block][k_plain_pitch];   // [reflector, turned around][row], or the factor
  float right[k_block][k_plain_pitch];  // C, or V^T C, or T^T V^T C: [row or reflector][column]
};

/// One thread's view of a strip. It owns 4 x 4 entries of every 64 x 64 result, 16 apart.
struct PlainTransformer {
  const PlainTask& task;
  PlainShared& shared;
  const std::int64_t matrix;
  const int first_column, thread, line, column;  // line and column of the thread's first entry

  using Entries = float[4][4];

  __device__ __forceinline__ float* entry_of(int row, int k) const {
    const std::int64_t n = task.n;
    return task.vectors + (matrix * n + row) * n + first_column + column + 16 * k;
  }
  __device__ __forceinline__ bool is_inside(int row, int k) const {
    return row < task.n && first_column + column + 16 * k < task.n;
  }

  /// Matrix rows [row, row + 64) of the block's reflectors, zeros where a reflector has none.
  __device__ __forceinline__ void load_reflectors(int block, int row) const {
    const std::int64_t n = task.n;
    for (int k = thread; k < k_block * k_plain_side; k += k_plain_threads) {
      const int turned = k / k_plain_side, i = row + k % k_plain_side;
      const int j = block * k_block + k_block - 1 - turned;
      const bool inside = i < task.n && i > j && j < task.n - 1;
      shared.left[turned][k % k_plain_side] =
          inside ? task.reflectors[(matrix * n + j) * n + i] : 0;
    }
  }

  /// What entries of tile `row` are multiplied by: the column's norm before their first use.
  __device__ __forceinline__ float scale_of(int block, int row, int k) const {
    const int at = first_column + column + 16 * k;
    const bool used = block + 1 < reflector_blocks(task.n) && row >= (block + 1) * k_block;
    return used || at >= task.n ? 1 : task.norms[matrix * task.n + at];
  }

  __device__ __forceinline__ void store_right(const Entries& entries) const {
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      shared.right[line + k / 4 * 16][column + k % 4 * 16] = entries[k / 4][k % 4];
    }
  }

  /// sum += the left tile's row `line` ... times the right one, over 64 inner indices; `turned` for
  /// the left tile transposed.
  template <bool Turned>
  __device__ __forceinline__ void multiply(Entries& sum) const {
#pragma unroll 4
    for (int i = 0; i < k_block; ++i) {
      float left[4], right[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        left[k] = Turned ? shared.left[i][line + 16 * k] : shared.left[line + 16 * k][i];
        right[k] = shared.right[i][column + 16 * k];
      }
#pragma unroll
      for (int k = 0; k < 16; ++k) sum[k / 4][k % 4] += left[k / 4] * right[k % 4];
    }
  }

  /// V^T C over all rows of the block.
  __device__ __forceinline__ void project(Entries& product, int block) const {
    for (int row = block * k_block; row < task.n; row += k_plain_side) {
      Entries c;
#pragma unroll
      for (int k = 0; k < 16; ++k) {
        const int i = row + line + k / 4 * 16;
        c[k / 4][k % 4] =
            is_inside(i, k % 4) ? *entry_of(i, k % 4) * scale_of(block, row, k % 4) : 0;
      }
      load_reflectors(block, row);
      store_right(c);
      block_barrier();
      multiply<false>(product);
      block_barrier();
    }
  }

  /// T^T times what is in the right tile.
  __device__ __forceinline__ void weigh(Entries& weighted, int block) const {
    const int blocks = reflector_blocks(task.n);
    const float* factor = task.factors + (matrix * blocks + block) * k_factor_elements;
    for (int k = thread; k < k_factor_elements; k += k_plain_threads) {
      shared.left[k / k_block][k % k_block] = factor[k];
    }
    block_barrier();
    multiply<true>(weighted);
    block_barrier();
  }

  /// C -= V times what is in the right tile.
  __device__ __forceinline__ void update(int block) const {
    for (int row = block * k_block; row < task.n; row += k_plain_side) {
      load_reflectors(block, row);
      block_barrier();
      Entries sum = {};
      multiply<true>(sum);
#pragma unroll
      for (int k = 0; k < 16; ++k) {
        const int i = row + line + k / 4 * 16;
        if (!is_inside(i, k % 4)) continue;
        float* at = entry_of(i, k % 4);
        *at = *at * scale_of(block, row, k % 4) - sum[k / 4][k % 4];
      }
      block_barrier();
    }
  }

  __device__ __forceinline__ void run() const {
#pragma unroll 1
    for (int block = reflector_blocks(task.n) - 1; block >= 0; --block) {
      Entries product = {}, weighted = {};
      project(product, block);
      store_right(product);
      weigh(weighted, block);
      store_right(weighted);
      update(block);
    }
  }
};

/// Grid: batch x strips.
__global__ void __launch_bounds__(k_plain_threads) transform_plainly(const PlainTask task) {
  const std::int64_t matrix = block_index() / task.strips;
  if (task.flags != nullptr && task.flags[matrix] == 0) return;
  const int thread = thread_index();
  const PlainTransformer transformer{
      task,       *reinterpret_cast<PlainShared*>(shared_memory()),
      matrix,     static_cast<int>(block_index() % task.strips) * k_plain_side,
      thread,     thread / 16,
      thread % 16};
  transformer.run();
}

}  // namespace tridiagonal

#endif  // KBENCH_EIGH_TRIDIAGONAL_BACK_TRANSFORM_PLAIN_CUH
