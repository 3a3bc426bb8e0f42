// The reduction of matrices of at most 32 rows: one warp a matrix, one row a lane, in registers.
//
// A step of the large reduction waits for two barriers and for sums that pass through shared
// memory; here a lane has its sums itself, and only x, v and w are handed round.
#ifndef KBENCH_EIGH_TRIDIAGONAL_REDUCE_WARP_CUH
#define KBENCH_EIGH_TRIDIAGONAL_REDUCE_WARP_CUH

#include "reduce_task.cuh"

namespace tridiagonal {

constexpr int k_warp_rows = 32;

struct WarpShared {
  float4 x[k_warp_rows / 4], v[k_warp_rows / 4], w[k_warp_rows / 4];
};

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) value += shuffle_xor(value, mask);
  return value;
}

/// One lane's view: row `lane` of the matrix, both triangles kept.
struct WarpReducer {
  using RowOfMatrix = float[k_warp_rows];

  const ReduceTask& task;
  WarpShared& shared;
  const std::int64_t matrix;
  const int lane;

  static __device__ __forceinline__ float* floats(float4* vector) {
    return reinterpret_cast<float*>(vector);
  }

  /// The row from the lower triangle, scaled; zeros outside the matrix.
  __device__ __forceinline__ void load(RowOfMatrix& row) const {
    const int n = task.n;
    const float* a = task.a + matrix * n * n;
    unsigned largest = 0;
#pragma unroll
    for (int k = 0; k < k_warp_rows; ++k) {
      const bool inside = lane < n && k < n;
      row[k] = inside ? a[k < lane ? lane * n + k : k * n + lane] : 0;
      const unsigned magnitude = bits_of(row[k]) & 0x7fffffffu;
      largest = magnitude > largest ? magnitude : largest;
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) {
      const unsigned other = shuffle_xor(largest, mask);
      largest = other > largest ? other : largest;
    }
    const ScalePair powers = scale_of(largest);
#pragma unroll
    for (int k = 0; k < k_warp_rows; ++k) row[k] *= powers.up;
    if (lane == 0) task.down[matrix] = largest == 0 ? 0 : powers.down;
  }

  /// Hands row j round, which is column j, and returns this lane's entry.
  __device__ __forceinline__ float share_row(const RowOfMatrix& row, int j) const {
    if (lane == j) {
#pragma unroll
      for (int k = 0; k < k_warp_rows / 4; ++k) {
        shared.x[k] = {row[4 * k], row[4 * k + 1], row[4 * k + 2], row[4 * k + 3]};
      }
    }
    warp_barrier();
    return floats(shared.x)[lane];
  }

  __device__ __forceinline__ float times_v(const RowOfMatrix& row) const {
    float sum[4] = {};
#pragma unroll
    for (int k = 0; k < k_warp_rows / 4; ++k) {
      const float4 v = shared.v[k];
      sum[0] += row[4 * k] * v.x;
      sum[1] += row[4 * k + 1] * v.y;
      sum[2] += row[4 * k + 2] * v.z;
      sum[3] += row[4 * k + 3] * v.w;
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }

  /// row -= v w^T + w v^T.
  __device__ __forceinline__ void update(RowOfMatrix& row, float v, float w) const {
#pragma unroll
    for (int k = 0; k < k_warp_rows / 4; ++k) {
      const float4 all_v = shared.v[k], all_w = shared.w[k];
      row[4 * k] -= v * all_w.x;
      row[4 * k + 1] -= v * all_w.y;
      row[4 * k + 2] -= v * all_w.z;
      row[4 * k + 3] -= v * all_w.w;
      row[4 * k] -= w * all_v.x;
      row[4 * k + 1] -= w * all_v.y;
      row[4 * k + 2] -= w * all_v.z;
      row[4 * k + 3] -= w * all_v.w;
    }
  }

  /// Makes reflector j, which leaves nothing of column j below the row j + 1, and applies it.
  __device__ __forceinline__ void step(RowOfMatrix& row, int j) const {
    const int n = task.n;
    const float x = share_row(row, j);
    const Reflector reflector =
        reflect(floats(shared.x)[j + 1], warp_sum(lane > j + 1 ? x * x : 0));
    const float tau = reflector.tau;
    const float v = lane > j + 1 ? x * reflector.inverse : lane == j + 1 ? 1 : 0;
    floats(shared.v)[lane] = v;
    warp_barrier();
    const float product = lane > j ? tau * times_v(row) : 0;
    const float w = product - 0.5f * tau * warp_sum(product * v) * v;
    floats(shared.w)[lane] = w;
    warp_barrier();
    update(row, v, w);
    if (lane > j && lane < n) task.reflectors[(matrix * n + j) * n + lane] = v;
    if (lane != j) return;
    task.diagonal[matrix * n + j] = x;
    task.coupling[matrix * n + j] = reflector.beta;
    task.tau[matrix * n + j] = tau;
  }

  __device__ __forceinline__ void run() const {
    RowOfMatrix row;
    load(row);
#pragma unroll 1
    for (int j = 0; j + 1 < task.n; ++j) step(row, j);
    const float last = share_row(row, task.n - 1);
    if (lane == task.n - 1) task.diagonal[matrix * task.n + lane] = last;
  }
};

/// Grid: batch blocks of one warp; n is at most k_warp_rows.
__global__ void __launch_bounds__(k_warp_rows) reduce_in_warp(const ReduceTask task) {
  const WarpReducer reducer{task, *reinterpret_cast<WarpShared*>(shared_memory()), block_index(),
                            thread_index()};
  reducer.run();
}

}  // namespace tridiagonal

#endif  // KBENCH_EIGH_TRIDIAGONAL_REDUCE_WARP_CUH
