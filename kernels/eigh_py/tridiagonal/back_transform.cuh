// Eigenvectors of A from those of T: C <- H_0 H_1 ... H_(n-2) C in one launch, in place, block of
// reflectors after block. A warp owns 32 columns and keeps the products in registers; C is read
// twice and written once a block and is expected in the L2 cache, the reflectors pass through
// shared memory. A row's first use also normalises the columns, which bounds all products.
#ifndef KBENCH_EIGH_TRIDIAGONAL_BACK_TRANSFORM_CUH
#define KBENCH_EIGH_TRIDIAGONAL_BACK_TRANSFORM_CUH

#include "products.cuh"

namespace tridiagonal {

constexpr int k_transform_warps = 4;
constexpr int k_transform_threads = k_transform_warps * 32;
constexpr int k_strip_columns = k_transform_warps * k_warp_columns;
constexpr int k_stages = 3;

struct TransformTask {
  float* vectors;              // [batch, n, n] row-major
  const float* norms;          // [batch, n]
  const std::uint16_t* pairs;  // as ReflectorTask has them
  const float* factors;
  const unsigned* flags;  // [batch]: flagged matrices are left to transform_plainly
  int n;
  int strips;  // of k_strip_columns columns
};

struct TransformShared {
  std::uint16_t ring[k_stages][k_tile_rows][padded(2 * k_block)];
  std::uint16_t factor[2][k_block][padded(k_block)];
};

/// One thread's view of a strip.
template <bool Vector>
struct Transformer {
  const TransformTask& task;
  TransformShared& shared;
  const std::int64_t matrix;
  const int thread, lane, column;  // the first of the lane's four columns
  float* const vectors;

  __device__ __forceinline__ int row_of(int first, int k) const {
    return first + lane % 4 * 2 + k % 2 + k / 2 * 8;
  }

  __device__ __forceinline__ void load_tile(Tile& c, int first) const {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int row = row_of(first, k);
      const float* from = vectors + static_cast<std::int64_t>(row) * task.n + column;
      if constexpr (Vector) {
        float4 four = {0, 0, 0, 0};
        if (row < task.n && column < task.n) four = *reinterpret_cast<const float4*>(from);
        c[4 * k] = four.x, c[4 * k + 1] = four.y, c[4 * k + 2] = four.z, c[4 * k + 3] = four.w;
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          c[4 * k + j] = row < task.n && column + j < task.n ? from[j] : 0;
        }
      }
    }
  }

  __device__ __forceinline__ void store_tile(const Tile& c, int first) const {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int row = row_of(first, k);
      float* to = vectors + static_cast<std::int64_t>(row) * task.n + column;
      if constexpr (Vector) {
        const float4 four = {c[4 * k], c[4 * k + 1], c[4 * k + 2], c[4 * k + 3]};
        if (row < task.n && column < task.n) *reinterpret_cast<float4*>(to) = four;
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (row < task.n && column + j < task.n) to[j] = c[4 * k + j];
        }
      }
    }
  }

  /// Starts the copy of 16 rows of reflectors; rows below the matrix become zero.
  __device__ __forceinline__ void fetch(int block, int first, int stage) const {
    constexpr int units = k_reflector_pitch / 8;  // of 16 bytes, per row
    const std::uint16_t* from =
        task.pairs + (matrix * reflector_blocks(task.n) + block) * task.n * k_reflector_pitch;
    for (int k = thread; k < k_tile_rows * units; k += k_transform_threads) {
      const int unit = k % units, row = first + k / units;
      const bool inside = row < task.n;
      copy_async(
          &shared.ring[stage][k / units][unit * 8],
          from + static_cast<std::int64_t>(inside ? row : first) * k_reflector_pitch + unit * 8,
          inside);
    }
  }

  /// Calls work(first row, stage) for every 16 rows from `top` on, upwards or downwards, their
  /// reflectors in the stage.
  template <class Work>
  __device__ __forceinline__ void for_each_chunk(int block, bool upwards, const Work& work) const {
    const int top = block * k_block, chunks = (task.n - top + k_tile_rows - 1) / k_tile_rows;
    const auto at = [&](int step) {
      return top + (upwards ? step : chunks - 1 - step) * k_tile_rows;
    };
#pragma unroll
    for (int step = 0; step < k_stages - 1; ++step) {
      if (step < chunks) fetch(block, at(step), step);
      copy_commit();
    }
    int stage = 0;
    for (int step = 0; step < chunks; ++step) {
      copy_wait<k_stages - 2>();
      block_barrier();  // the stage has arrived, and the one before it is no longer read
      const int ahead = step + k_stages - 1;
      if (ahead < chunks) fetch(block, at(ahead), (stage + k_stages - 1) % k_stages);
      copy_commit();
      work(at(step), stage);
      stage = (stage + 1) % k_stages;
    }
    copy_wait<0>();
    block_barrier();
  }

  __device__ __forceinline__ void fetch_factor(int block) const {
    const float* factor =
        task.factors + (matrix * reflector_blocks(task.n) + block) * k_factor_elements;
    for (int k = thread; k < k_factor_elements / 2; k += k_transform_threads) {
      const int row = k / (k_block / 2), two = k % (k_block / 2) * 2;
      const HalfPair pair = split(factor[row * k_block + two], factor[row * k_block + two + 1]);
      *reinterpret_cast<std::uint32_t*>(&shared.factor[0][row][two]) = pair.high;
      *reinterpret_cast<std::uint32_t*>(&shared.factor[1][row][two]) = pair.low;
    }
  }

  /// What a chunk of rows is multiplied by in block `block`: the columns' norms if no earlier block
  /// has touched it, else nothing.
  __device__ __forceinline__ void normalise(Tile& c, const float (&norms)[4], int block,
                                            int first) const {
    if (block + 1 < reflector_blocks(task.n) && first >= (block + 1) * k_block) return;
#pragma unroll
    for (int k = 0; k < 16; ++k) c[k] *= norms[k % 4];
  }

  /// Pass 1: product = C^T V.
  __device__ __forceinline__ void project_all(Product& product, const float (&norms)[4],
                                              int block) const {
    Tile next;
    load_tile(next, block * k_block);
    for_each_chunk(block, true, [&](int first, int stage) {
      Tile c;
#pragma unroll
      for (int k = 0; k < 16; ++k) c[k] = next[k];
      load_tile(next, first + k_tile_rows);  // zeros below the matrix
      normalise(c, norms, block, first);
      project(product, c, shared.ring[stage], lane);
    });
  }

  /// Pass 2: C += (weights V^T)^T.
  __device__ __forceinline__ void update_all(const Operand& weights, const float (&norms)[4],
                                             int block) const {
    const int top = block * k_block;
    Tile next;
    load_tile(next, top + (task.n - top - 1) / k_tile_rows * k_tile_rows);
    for_each_chunk(block, false, [&](int first, int stage) {
      Tile c;
#pragma unroll
      for (int k = 0; k < 16; ++k) c[k] = next[k];
      if (first > top) load_tile(next, first - k_tile_rows);
      normalise(c, norms, block, first);
      update(c, weights, shared.ring[stage], lane);
      store_tile(c, first);
    });
  }

  __device__ __forceinline__ void run() const {
    float norms[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      norms[k] = column + k < task.n ? task.norms[matrix * task.n + column + k] : 0;
    }
#pragma unroll 1
    for (int block = reflector_blocks(task.n) - 1; block >= 0; --block) {
      fetch_factor(block);  // seen by all at the first barrier of the chunks
      Product product = {};
      project_all(product, norms, block);
      Operand operand;
      as_operand(operand, product, 1);
      Product weighted = {};
      weigh(weighted, operand, shared.factor, lane);
      as_operand(operand, weighted, -1);
      update_all(operand, norms, block);
    }
  }
};

/// Grid: batch x strips.
template <bool Vector>
__global__ void __launch_bounds__(k_transform_threads, 3)
    transform_vectors(const TransformTask task) {
  const int thread = thread_index(), lane = thread % 32;
  const std::int64_t matrix = block_index() / task.strips, n = task.n;
  if (task.flags[matrix] != 0) return;
  const int strip = static_cast<int>(block_index() % task.strips);
  const Transformer<Vector> transformer{
      task,
      *reinterpret_cast<TransformShared*>(shared_memory()),
      matrix,
      thread,
      lane,
      strip * k_strip_columns + thread / 32 * k_warp_columns + lane / 4 * 4,
      task.vectors + matrix * n * n};
  transformer.run();
}

}  // namespace tridiagonal

#endif  // KBENCH_EIGH_TRIDIAGONAL_BACK_TRANSFORM_CUH
