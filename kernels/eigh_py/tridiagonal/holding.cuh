// What one thread block holds of a matrix that is being reduced, alone or in a cluster: blocks in
// registers, in shared memory and beyond, vectors, sums and tables; and how the matrix gets there.
// Knows nothing of the steps of the reduction.
#ifndef KBENCH_EIGH_TRIDIAGONAL_HOLDING_CUH
#define KBENCH_EIGH_TRIDIAGONAL_HOLDING_CUH

#include "block_pass.cuh"
#include "reduce_task.cuh"

namespace tridiagonal {

/// One thread's view. `Alone` where a matrix is one thread block's; `Where` its vectors are.
template <bool Alone, Home Where>
struct Holding {
  const ReduceTask& task;
  const SharedLayout layout;
  const std::int64_t matrix;
  const int rank, thread, warp, lane;
  const int rows;  // of 64 x 64 blocks
  unsigned char* const shared;
  unsigned char* const outside;

  __device__ __forceinline__ int team() const { return Alone ? 1 : task.ranks; }
  /// What no other thread block writes to. The address space is known when this is compiled, which
  /// shared memory needs to be fast.
  template <class T>
  __device__ __forceinline__ T* own_at(int offset) const {
    if constexpr (Where == Home::outside) return reinterpret_cast<T*>(outside + offset);
    return reinterpret_cast<T*>(shared + offset);
  }
  __device__ __forceinline__ float* floats(int offset) const { return own_at<float>(offset); }
  __device__ __forceinline__ Scalars& scalars() const {
    return *reinterpret_cast<Scalars*>(shared + layout.scalars);
  }
  __device__ __forceinline__ Place* places() const { return own_at<Place>(layout.places); }
  __device__ __forceinline__ int* starts() const { return own_at<int>(layout.starts); }
  __device__ __forceinline__ int* entries() const { return own_at<int>(layout.entries); }
  /// The pivot column of step j, valid from the end of the pass before it to its own end.
  __device__ __forceinline__ float* pivot_column(int j) const {
    const int parity = (j & 1) * layout.padded;
    if constexpr (Alone) return floats(layout.column) + parity;
    return reinterpret_cast<float*>(shared + layout.column) + parity;
  }
  /// Number of this thread block's blocks that still hold column j or a later one.
  __device__ __forceinline__ int alive(int j) const {
    return share_of(triangle(rows - j / k_side), rank, team());
  }
  __device__ __forceinline__ float4* stored_block(int local) const {
    constexpr int size = k_block_elements / 4;
    const int beyond = local - k_warps - task.resident;
    if (beyond < 0) {
      return reinterpret_cast<float4*>(shared + layout.resident) + (local - k_warps) * size;
    }
    return task.spill + ((matrix * team() + rank) * task.spilled + beyond) * size;
  }

  /// Which blocks are ours, and for each block row which sums of ours belong to it, oldest last.
  __device__ __forceinline__ void set_tables() const {
    const int count = alive(0);
    for (int l = thread; l < count; l += k_threads) {
      places()[l] = place_of(l * team() + rank, rows);
    }
    block_barrier();
    const auto visit = [&](int row, const auto& found) {
      for (int l = 0; l < count; ++l) {
        const Place place = places()[l];
        if (place.row == row) found(2 * l);
        if (place.column == row && place.row != row) found(2 * l + 1);
      }
    };
    for (int row = thread; row < rows; row += k_threads) {
      int found = 0;
      visit(row, [&](int) { ++found; });
      starts()[row + 1] = found;
    }
    block_barrier();
    if (thread == 0) {
      starts()[0] = 0;
      for (int row = 0; row < rows; ++row) starts()[row + 1] += starts()[row];
    }
    block_barrier();
    for (int row = thread; row < rows; row += k_threads) {
      int at = starts()[row];
      visit(row, [&](int sum) { entries()[at++] = sum; });
    }
  }

  /// Four entries of a row of A, zero outside the matrix.
  __device__ __forceinline__ float4 read_four(int row, int column) const {
    const int n = task.n;
    float4 four = {0, 0, 0, 0};
    if (row >= n || column >= n) return four;
    const float* from = task.a + (matrix * n + row) * n + column;
    if (n % 4 == 0) return *reinterpret_cast<const float4*>(from);
    four.x = from[0];
    if (column + 1 < n) four.y = from[1];
    if (column + 2 < n) four.z = from[2];
    if (column + 3 < n) four.w = from[3];
    return four;
  }

  /// Calls work(four, a, group) for the lane's float4 of a block, [16 rows][2 groups].
  template <class Work>
  __device__ __forceinline__ void read_block(const Place& place, const Work& work) const {
#pragma unroll
    for (int a = 0; a < 16; ++a) {
#pragma unroll
      for (int group = 0; group < 2; ++group) {
        const int row = place.row * k_side + a / 8 * 32 + (lane >> 3) * 8 + a % 8;
        work(read_four(row, place.column * k_side + group * 32 + (lane & 7) * 4), a, group);
      }
    }
  }

  /// Loads all blocks; returns the largest magnitude this thread saw, as ordered bits: a NaN
  /// counts as larger than every number.
  __device__ __forceinline__ unsigned load(OwnBlock& own) const {
    unsigned largest = 0;
    const auto see = [&](float value) {
      const unsigned magnitude = bits_of(value) & 0x7fffffffu;
      largest = magnitude > largest ? magnitude : largest;
    };
    const int count = alive(0);
    for (int l = warp; l < count; l += k_warps) {
      const auto keep = [&](const float4& four, int a, int group) {
        see(four.x), see(four.y), see(four.z), see(four.w);
        if (l == warp) {
          float* at = &own[a / 8][a % 8][group * 4];
          at[0] = four.x, at[1] = four.y, at[2] = four.z, at[3] = four.w;
        } else {
          stored_block(l)[stored_at(a, group, lane)] = four;
        }
      };
      read_block(places()[l], keep);
    }
    return largest;
  }

  __device__ __forceinline__ void scale(OwnBlock& own, float up) const {
    for (int l = warp; l < alive(0); l += k_warps) {
#pragma unroll
      for (int k = 0; k < 32; ++k) {
        if (l == warp) {
          for (int c = 0; c < 4; ++c) own[k / 16][k / 2 % 8][k % 2 * 4 + c] *= up;
        } else {
          float4& four = stored_block(l)[stored_at(k / 2, k % 2, lane)];
          four = {four.x * up, four.y * up, four.z * up, four.w * up};
        }
      }
    }
  }

  __device__ __forceinline__ void team_barrier() const {
    if (team() > 1) {
      cluster_barrier();
    } else {
      block_barrier();
    }
  }

  /// The largest magnitude of the matrix from what each thread saw.
  __device__ __forceinline__ unsigned team_largest(unsigned largest) const {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) {
      const unsigned other = shuffle_xor(largest, mask);
      largest = other > largest ? other : largest;
    }
    if (lane == 0) scalars().warp_forms[warp] = float_of(largest);
    block_barrier();
    if (thread < team()) {
      unsigned most = 0;
      for (const float other : scalars().warp_forms) {
        most = bits_of(other) > most ? bits_of(other) : most;
      }
      if (team() > 1) {
        store_twin(&scalars().largest[rank], thread, float_of(most));
      } else {
        scalars().largest[0] = float_of(most);
      }
    }
    team_barrier();
    largest = 0;
    for (int k = 0; k < team(); ++k) {
      const unsigned other = bits_of(scalars().largest[k]);
      largest = other > largest ? other : largest;
    }
    return largest;
  }
};

}  // namespace tridiagonal

#endif  // KBENCH_EIGH_TRIDIAGONAL_HOLDING_CUH
