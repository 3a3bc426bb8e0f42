// The Gram matrix of a panel of 64 columns in FP64, on the tensor cores.
//
// Products of two FP32 numbers are exact in FP64, so the Gram matrix carries the columns to twice
// their precision; that is what lets a panel be factored from it (gram_factor.cuh). Its columns
// need no scaling: FP64 holds the squares of all FP32 numbers.
#ifndef KBENCH_QR_BLOCKED_GRAM_SUMS_CUH
#define KBENCH_QR_BLOCKED_GRAM_SUMS_CUH

#include <limits>
#include <type_traits>

#include "team.cuh"

namespace blocked {

constexpr int k_gram_warps = 8;            // where two panels share a multiprocessor
constexpr int k_wide_gram_warps = 16;      // where a panel has one for itself
constexpr int k_gram_splits = 2;           // copies of the sums; four warps each share the tiles
constexpr int k_gram_products = 5;         // of 16 x 8, by one warp
constexpr int k_gram_tiles = 36;           // of 8 x 8, those with first <= second
constexpr int k_gram_pitch = k_block + 4;  // no fragment of 8 x 4 or 4 x 8 meets a bank twice
constexpr int k_gram_values = k_gram_tiles * 64 + 2;
constexpr unsigned k_infinity_bits = 0x7f800000u;  // of the magnitude of an FP32 infinity
constexpr double k_infinity = std::numeric_limits<double>::infinity();
/// This value is not 0 if the panel is not triangular, and infinite if the panel is not finite.
constexpr int k_below = k_gram_tiles * 64;
constexpr int k_side = 16;  // columns of a diagonal block

/// Coefficients of one diagonal block's substitution: [j][h][k] multiplies element 2 (j / 2 + k) +
/// h; what lies beyond the block is never set and multiplies what is never used.
using Substitution = double[k_side][2][k_side / 2];

/// Shared memory of a Gram panel. The union separates what no two phases need at once.
struct GramShared {
  union {
    double sums[k_gram_splits][k_gram_values];
    double product[k_block][k_gram_pitch];  // Y, whose inverse M is; then R M; then U^-1
  };
  double mixed[k_block][k_gram_pitch];  // R on and above the diagonal, L strictly below; then U
  double weights[k_block][k_block];     // the Cholesky factor C, then M; columns swizzled
  alignas(16) Substitution by_c, by_l, by_y;
  double size[k_block];  // squared norm of each column
  double tau[k_block];
  double inverse_c[k_block], inverse_pivot[k_block];  // 1 / C_jj and its square
  double sign[k_block];                               // R_j = sign_j C_j
  double inverse[k_block];                            // 1 / Y_jj
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

constexpr int k_stage_rows = 32;
constexpr int k_gram_stages = 4;  // of rows of the panel; they lie over `weights`

/// Where four neighbouring columns of a staged row lie: the eight lanes that read together, two
/// such units of four rows, meet no bank twice.
__device__ __forceinline__ constexpr int staged_unit(int row, int unit) {
  return row * (k_block / 4) + (unit ^ (row & 1) ^ (row & 2) << 1);
}

/// The rows of one block on their way through shared memory.
struct GramWalk {
  const float* panel;  // the panel's first element
  std::int64_t n;
  GramRows rows;
  bool vector;

  __device__ __forceinline__ static float4* stage(GramShared& shared, int number) {
    return reinterpret_cast<float4*>(&shared.weights[0][0]) +
           number % k_gram_stages * k_stage_rows * (k_block / 4);
  }
  /// Starts the copy of stage `number`; rows outside become zero.
  __device__ __forceinline__ void fetch(GramShared& shared, int number, int thread,
                                        int threads) const {
#pragma unroll
    for (int k = thread; k < k_stage_rows * k_block / 4; k += threads) {
      const int line = k / (k_block / 4), unit = k % (k_block / 4);
      const int row = rows.begin + number * k_stage_rows + line;
      const bool inside = row < rows.end;
      const float* from = panel + (inside ? row : 0) * n + unit * 4;
      float4* to = stage(shared, number) + staged_unit(line, unit);
      if (vector) {
        copy_async(to, from, inside);
      } else {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          copy_async_word(reinterpret_cast<float*>(to) + c, from + c, inside);
        }
      }
    }
    copy_commit();
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

/// Adds a quarter of the products over this warp's share of a stage, eight rows at a time. A lane
/// reads rows lane % 4 and four below of its columns 8 (lane / 4) .. + 7.
template <int Quarter>
__device__ __forceinline__ void add_stage(double (&sum)[k_gram_products][4], const float4* stage,
                                          int split, int splits, int lane) {
#pragma unroll 1
  for (int first = split * 8; first < k_stage_rows; first += splits * 8) {
    double x[2][8];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first + 4 * half + lane % 4;
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const float4 four = stage[staged_unit(row, lane / 4 * 2 + c)];
        x[half][4 * c] = widen(four.x), x[half][4 * c + 1] = widen(four.y);
        x[half][4 * c + 2] = widen(four.z), x[half][4 * c + 3] = widen(four.w);
      }
    }
#pragma unroll
    for (int k = 0; k < k_gram_products; ++k) {
      const int pair = gram_product(Quarter, k).pair, second = gram_product(Quarter, k).second;
      multiply_add(sum[k], {x[0][2 * pair], x[0][2 * pair + 1], x[1][2 * pair], x[1][2 * pair + 1]},
                   {x[0][second], x[1][second]});
    }
  }
}

/// One warp's products into its copy of the sums, as the first or added to what is there.
template <int Quarter>
__device__ __forceinline__ void put_sums(double (&to)[k_gram_values],
                                         const double (&sum)[k_gram_products][4], int lane,
                                         bool first) {
#pragma unroll
  for (int k = 0; k < k_gram_products; ++k) {
    const int pair = gram_product(Quarter, k).pair, second = gram_product(Quarter, k).second;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (2 * pair + half > second) continue;
      double* at = &to[2 * lane + gram_tile(2 * pair + half, second) * 64];
      at[0] = (first ? 0 : at[0]) + sum[k][2 * half];
      at[1] = (first ? 0 : at[1]) + sum[k][2 * half + 1];
    }
  }
}

/// Calls work(quarter) with the warp's quarter as a constant.
template <class Work>
__device__ __forceinline__ void by_quarter(int warp, const Work& work) {
  switch (warp % 4) {
    case 0:
      return work(std::integral_constant<int, 0>{});
    case 1:
      return work(std::integral_constant<int, 1>{});
    case 2:
      return work(std::integral_constant<int, 2>{});
    default:
      return work(std::integral_constant<int, 3>{});
  }
}

/// Raises `largest` to what this thread sees of a stage: the largest magnitude below the diagonal,
/// or anywhere that of a value that is not finite, as bits.
__device__ __forceinline__ void look_at(unsigned& largest, const float4* stage, int first_row,
                                        int thread, int threads) {
  const auto* words = reinterpret_cast<const float*>(stage);
#pragma unroll
  for (int k = thread; k < k_stage_rows * k_block; k += threads) {
    const int line = k / k_block, c = k % k_block;
    const unsigned own = magnitude(words[staged_unit(line, c / 4) * 4 + c % 4]);
    if (own > largest && (first_row + line > c || own >= k_infinity_bits)) largest = own;
  }
}

/// The Gram matrix of the whole panel, the same bits in all blocks of the team; where it lies.
template <bool Cluster>
__device__ __forceinline__ const double* sum_gram(GramShared& shared, const GramWalk& walk,
                                                  const Team& team) {
  const int thread = team.warp * 32 + team.lane, threads = team.warps * 32;
  const int split = team.warp / 4, splits = team.warps / 4;
  const int stages = (walk.rows.end - walk.rows.begin + k_stage_rows - 1) / k_stage_rows;
#pragma unroll 1
  for (int k = 0; k < k_gram_stages - 1; ++k) walk.fetch(shared, k, thread, threads);
  double sum[k_gram_products][4] = {};
  unsigned largest = 0;
#pragma unroll 1
  for (int k = 0; k < stages; ++k) {
    copy_wait<k_gram_stages - 2>();
    block_barrier();  // the stage has arrived, and the one before it is read no more
    walk.fetch(shared, k + k_gram_stages - 1, thread, threads);
    const float4* stage = GramWalk::stage(shared, k);
    look_at(largest, stage, walk.rows.begin + k * k_stage_rows, thread, threads);
    by_quarter(team.warp,
               [&](auto quarter) { add_stage<quarter>(sum, stage, split, splits, team.lane); });
  }
  copy_wait<0>();
#pragma unroll 1
  for (int turn = 0; turn < splits / k_gram_splits; ++turn) {
    if (split / k_gram_splits == turn) {
      by_quarter(team.warp, [&](auto quarter) {
        put_sums<quarter>(shared.sums[split % k_gram_splits], sum, team.lane, turn == 0);
      });
    }
    block_barrier();
  }
  const bool any = block_any(largest != 0), finite = !block_any(largest >= k_infinity_bits);
#pragma unroll 3
  for (int k = thread; k < k_below; k += threads) shared.sums[0][k] += shared.sums[1][k];
  if (thread == 0) shared.sums[0][k_below] = !finite ? k_infinity : any ? 1 : 0;
  if constexpr (!Cluster) {
    block_barrier();
    return shared.sums[0];
  }
  cluster_barrier();
  const int share = (k_gram_values + team.ranks - 1) / team.ranks;
  const int end =
      (team.rank + 1) * share < k_gram_values - 1 ? (team.rank + 1) * share : k_gram_values - 1;
#pragma unroll 1
  for (int k = team.rank * share + thread; k < end; k += threads) {
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
