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
constexpr int k_gram_splits = 2;           // shares of the rows; four warps each share the tiles
constexpr int k_gram_products = 5;         // of 16 x 8, by one warp
constexpr int k_gram_tiles = 36;           // of 8 x 8, those with first <= second
constexpr int k_gram_pitch = k_block + 4;  // no fragment of 8 x 4 or 4 x 8 meets a bank twice
constexpr int k_gram_values = k_gram_tiles * 64 + 2;
constexpr int k_below = k_gram_tiles * 64;  // this value is not 0 if the panel is not triangular
constexpr int k_side = 16;                  // columns of a diagonal block

/// Coefficients of one diagonal block's substitution: [j][k] multiplies element j + 1 + k, zero
/// beyond the block, so that the loop over j needs no bounds.
using Substitution = double[k_side][k_side];

/// Shared memory of a Gram panel. The union separates what no two phases need at once.
struct GramShared {
  union {
    double sums[k_gram_splits][k_gram_values];
    double product[k_block][k_gram_pitch];  // Y, whose inverse M is; then R M; then U^-1
  };
  double mixed[k_block][k_gram_pitch];  // R on and above the diagonal, L strictly below; then U
  double weights[k_block][k_block];     // the Cholesky factor C, then M; columns swizzled
  alignas(16) Substitution by_c, by_l, by_y;
  double size[k_block];     // squared norm of each column
  double tau[k_block];
  double inverse_c[k_block];  // 1 / C_jj
  double sign[k_block];       // R_j = sign_j C_j
  double inverse[k_block];    // 1 / Y_jj
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

/// Column of `weights` in shared memory: lanes that read a fragment of them meet no bank twice.
__device__ __forceinline__ int swizzled(int row, int column) {
  return column ^ ((row >> 2 & 1) * 2 | (row >> 3 & 1) * 8);
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

/// One lane's walk over the rows of its warp, eight rows of the panel at a time: the lane's are
/// number lane % 4 and the one four below it, of which it reads columns 8 (lane / 4) and on.
struct GramWalk {
  const float* panel;  // the panel's first element
  std::int64_t n;
  GramRows rows;
  int lane;
  bool vector;

  __device__ __forceinline__ int row_of(int group) const {
    return rows.begin + group * 8 + lane % 4;
  }
  __device__ __forceinline__ void load(float (&x)[2][8], int group) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = row_of(group) + 4 * half;
      load_eight(x[half], panel + row * n + lane / 4 * 8, vector, row < rows.end);
    }
  }
};

/// A product of two tiles `pair` and one tile `second`, 2 * pair <= second: its tile of 16 x 8
/// holds the tiles (2 pair, second) and (2 pair + 1, second).
struct GramProduct {
  int pair, second;
};
/// The k-th product of a quarter of the warps.
__host__ __device__ constexpr GramProduct gram_product(int quarter, int k) {
  const int index = quarter * k_gram_products + k;  // pairs have 8, 6, 4 and 2 products
  const int pair = index < 8 ? 0 : index < 14 ? 1 : index < 18 ? 2 : 3;
  return {pair, index - (pair == 0 ? 0 : pair == 1 ? 6 : pair == 2 ? 10 : 12)};
}

/// Adds a quarter of the products over every k_gram_splits-th group of eight rows. The first quarter
/// returns whether this lane saw anything but zeros below the diagonal.
template <int Quarter>
__device__ __forceinline__ bool add_rows(double (&sum)[k_gram_products][4], const GramWalk& walk,
                                         int split) {
  const int groups = (walk.rows.end - walk.rows.begin + 7) / 8;
  unsigned below = 0;
  float next[2][8];
  walk.load(next, split);
#pragma unroll 1
  for (int group = split; group < groups; group += k_gram_splits) {
    double x[2][8];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int t = 0; t < 8; ++t) {
        x[half][t] = next[half][t];
        if constexpr (Quarter == 0) {
          const bool counts = walk.row_of(group) + 4 * half > walk.lane / 4 * 8 + t;
          below |= counts ? magnitude(next[half][t]) : 0;
        }
      }
    }
    walk.load(next, group + k_gram_splits);
#pragma unroll
    for (int k = 0; k < k_gram_products; ++k) {
      const int pair = gram_product(Quarter, k).pair, second = gram_product(Quarter, k).second;
      multiply_add(sum[k],
                   {x[0][2 * pair], x[0][2 * pair + 1], x[1][2 * pair], x[1][2 * pair + 1]},
                   {x[0][second], x[1][second]});
    }
  }
  return below != 0;
}

/// The part of one warp: its products over its rows, into its copy of the sums.
template <int Quarter>
__device__ __forceinline__ bool sum_quarter(GramShared& shared, const GramWalk& walk, int split) {
  double sum[k_gram_products][4] = {};
  const bool below = add_rows<Quarter>(sum, walk, split);
#pragma unroll
  for (int k = 0; k < k_gram_products; ++k) {
    const int pair = gram_product(Quarter, k).pair, second = gram_product(Quarter, k).second;
    double* at = &shared.sums[split][2 * walk.lane];
    at[gram_tile(2 * pair, second) * 64] = sum[k][0];
    at[gram_tile(2 * pair, second) * 64 + 1] = sum[k][1];
    if (2 * pair + 1 <= second) {
      at[gram_tile(2 * pair + 1, second) * 64] = sum[k][2];
      at[gram_tile(2 * pair + 1, second) * 64 + 1] = sum[k][3];
    }
  }
  return below;
}

/// The Gram matrix of the whole panel, the same bits in all blocks of the team; where it lies.
template <bool Cluster>
__device__ __forceinline__ const double* sum_gram(GramShared& shared, const GramWalk& walk,
                                                  const Team& team) {
  const int split = team.warp / 4;
  bool below = false;
  switch (team.warp % 4) {
    case 0: below = sum_quarter<0>(shared, walk, split); break;
    case 1: sum_quarter<1>(shared, walk, split); break;
    case 2: sum_quarter<2>(shared, walk, split); break;
    default: sum_quarter<3>(shared, walk, split); break;
  }
  warp_barrier();
  const bool any = block_any(below);
  const int thread = team.warp * 32 + team.lane;
#pragma unroll 3
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
#pragma unroll 1
  for (int k = team.rank * share + thread; k < end; k += k_gram_threads) {
    double parts[k_max_ranks];
#pragma unroll
    for (int rank = 0; rank < k_max_ranks; ++rank) {
      parts[rank] = rank < team.ranks ? load_twin(&shared.sums[0][k], rank) : 0;
    }
    double sum = 0;
#pragma unroll
    for (int rank = 0; rank < k_max_ranks; ++rank) sum += parts[rank];
#pragma unroll
    for (int rank = 0; rank < k_max_ranks; ++rank) {
      if (rank < team.ranks) store_twin(&shared.sums[1][k], rank, sum);
    }
  }
  cluster_barrier();
  return shared.sums[1];
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_GRAM_SUMS_CUH
