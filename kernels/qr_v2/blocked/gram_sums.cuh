// The Gram matrix of a panel of 64 columns in FP64, on the tensor cores.
//
// Products of two FP32 numbers are exact in FP64, so the Gram matrix carries the columns to twice
// their precision; that is what lets a panel be factored from it (gram_factor.cuh). Its columns
// need no scaling: FP64 holds the squares of all FP32 numbers.
#ifndef KBENCH_QR_BLOCKED_GRAM_SUMS_CUH
#define KBENCH_QR_BLOCKED_GRAM_SUMS_CUH

#include "team.cuh"

namespace blocked {

constexpr int k_gram_warps = 8;
constexpr int k_gram_threads = k_gram_warps * 32;
constexpr int k_gram_splits = 4;           // warps that share the rows; two each share the tiles
constexpr int k_gram_tiles = 36;           // of 8 x 8, those with first <= second
constexpr int k_gram_pitch = k_block + 4;  // no fragment of 8 x 4 or 4 x 8 meets a bank twice
constexpr int k_gram_values = k_gram_tiles * 64 + 2;
constexpr int k_below = k_gram_tiles * 64;  // this value is not 0 if the panel is not triangular

/// What one column's reflection is made of; d is 0, and with it both inverses, where the column is
/// zero: H = I.
struct GramPivot {
  double beta, beta_inverse, d, inverse;
};

/// Shared memory of a Gram panel. The unions separate what no two phases need at once.
struct GramShared {
  union {
    double sums[2][k_gram_values];
    double product[k_block][k_gram_pitch];  // also Y, whose inverse M is (gram_blocks.cuh)
    struct {
      float gram[k_block][k_block + 1];
      float factor[k_block][k_block + 1];
    } build;
  };
  double mixed[k_block][k_gram_pitch];  // R on and above the diagonal, L strictly below
  double weights[k_block][k_block];     // M with V_tail = P_tail M, columns swizzled
  double row[2][2][k_block];            // of step j in copy j % 2: Gram, top
  double column[2][2][k_block];         // likewise: top, weights
  GramPivot pivot[2];                   // likewise
  double size[k_block];                 // squared norm of each column
  double tau[k_block];
  double beta_inverse[k_block], inverse[k_block];  // of each pivot: 1 / beta, 1 / d
  int doubtful[2];
};

/// Rows [begin, end) of a panel, counted from its first row: those of one block of the team.
struct GramRows {
  int begin, end;
};

/// Tile t holds the columns 8 g + t, g = 0 .. 7, so that a lane reads 8 neighbours of one row.
__host__ __device__ constexpr int gram_tile(int first, int second) {
  return first * 8 - first * (first - 1) / 2 + second - first;
}
__device__ __forceinline__ int gram_index(int i, int j) {
  const int first = i % 8, second = j % 8;
  return first <= second ? gram_tile(first, second) * 64 + i / 8 * 8 + j / 8
                         : gram_tile(second, first) * 64 + j / 8 * 8 + i / 8;
}

__device__ __forceinline__ void load_eight(float (&x)[8], const float* from, bool vector,
                                           bool inside) {
  if (vector) {
#pragma unroll
    for (int c = 0; c < 8; c += 4) {
      float4 four = {0, 0, 0, 0};
      if (inside) four = *reinterpret_cast<const float4*>(from + c);
      x[c] = four.x, x[c + 1] = four.y, x[c + 2] = four.z, x[c + 3] = four.w;
    }
  } else {
#pragma unroll
    for (int c = 0; c < 8; ++c) x[c] = inside ? from[c] : 0;
  }
}

/// One lane's walk over the rows of its warp, four rows of the panel at a time.
struct GramWalk {
  const float* panel;  // the panel's first element
  std::int64_t n;
  GramRows rows;
  int lane;
  bool vector;

  __device__ __forceinline__ int row_of(int group) const {
    return rows.begin + group * 4 + lane % 4;
  }
  __device__ __forceinline__ void load(float (&x)[8], int group) const {
    const int row = row_of(group);
    load_eight(x, panel + row * n + lane / 4 * 8, vector, row < rows.end);
  }
};

/// Adds the tiles of parity `Half` over every k_gram_splits-th group of four rows; returns whether
/// this lane saw anything but zeros below the diagonal.
template <int Half, int Ahead>
__device__ __forceinline__ bool add_rows(double (&sum)[k_gram_tiles / 2][2], const GramWalk& walk,
                                         int split) {
  const int groups = (walk.rows.end - walk.rows.begin + 3) / 4;
  unsigned below = 0;
  float next[Ahead][8];
#pragma unroll
  for (int a = 0; a < Ahead; ++a) walk.load(next[a], split + a * k_gram_splits);
#pragma unroll 1
  for (int group = split; group < groups; group += Ahead * k_gram_splits) {
#pragma unroll
    for (int a = 0; a < Ahead; ++a) {
      const int current = group + a * k_gram_splits;
      double x[8];
#pragma unroll
      for (int t = 0; t < 8; ++t) {
        x[t] = next[a][t];
        const bool counts = walk.row_of(current) > walk.lane / 4 * 8 + t;
        below |= counts ? magnitude(next[a][t]) : 0;
      }
      walk.load(next[a], current + Ahead * k_gram_splits);
      int tile = 0;
#pragma unroll
      for (int first = 0; first < 8; ++first) {
#pragma unroll
        for (int second = first; second < 8; ++second, ++tile) {
          if (tile % 2 == Half) multiply_add(sum[tile / 2], x[first], x[second]);
        }
      }
    }
  }
  return below != 0;
}

template <int Half>
__device__ __forceinline__ void put_sums(double (&to)[k_gram_values],
                                         const double (&sum)[k_gram_tiles / 2][2], int lane,
                                         bool add) {
#pragma unroll
  for (int k = 0; k < k_gram_tiles / 2; ++k) {
    double* at = &to[(2 * k + Half) * 64 + 2 * lane];
    at[0] = add ? at[0] + sum[k][0] : sum[k][0];
    at[1] = add ? at[1] + sum[k][1] : sum[k][1];
  }
}

/// The part of one warp: its tiles over its rows, added to the block's two copies in turn.
template <int Half, int Ahead>
__device__ __forceinline__ bool sum_half(GramShared& shared, const GramWalk& walk, int split) {
  double sum[k_gram_tiles / 2][2] = {};
  const bool below = add_rows<Half, Ahead>(sum, walk, split);
  if (split < 2) put_sums<Half>(shared.sums[split], sum, walk.lane, false);
  block_barrier();
  if (split >= 2) put_sums<Half>(shared.sums[split - 2], sum, walk.lane, true);
  return below;
}

/// The Gram matrix of the whole panel, the same bits in all blocks of the team; where it lies.
template <bool Cluster>
__device__ __forceinline__ const double* sum_gram(GramShared& shared, const GramWalk& walk,
                                                  const Team& team) {
  constexpr int ahead = Cluster ? 4 : 2;
  const int split = team.warp / 2;
  const bool below = team.warp % 2 == 0 ? sum_half<0, ahead>(shared, walk, split)
                                        : sum_half<1, ahead>(shared, walk, split);
  const bool any = block_any(below);
  const int thread = team.warp * 32 + team.lane;
  for (int k = thread; k < k_below; k += k_gram_threads) shared.sums[0][k] += shared.sums[1][k];
  if (thread == 0) shared.sums[0][k_below] = any ? 1 : 0;
  if constexpr (!Cluster) {
    block_barrier();
    return shared.sums[0];
  }
  cluster_barrier();
  const int share = (k_gram_values + team.ranks - 1) / team.ranks;
  const int end =
      (team.rank + 1) * share < k_gram_values - 1 ? (team.rank + 1) * share : k_gram_values - 1;
  for (int k = team.rank * share + thread; k < end; k += k_gram_threads) {
    double sum = 0;
    for (int rank = 0; rank < team.ranks; ++rank) sum += load_twin(&shared.sums[0][k], rank);
    for (int rank = 0; rank < team.ranks; ++rank) store_twin(&shared.sums[1][k], rank, sum);
  }
  cluster_barrier();
  return shared.sums[1];
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_GRAM_SUMS_CUH
