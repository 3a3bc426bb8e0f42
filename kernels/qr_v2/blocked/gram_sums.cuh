// The Gram matrix of a panel of 64 columns in FP64, on the tensor cores.
//
// Products of two FP32 numbers are exact in FP64, so the Gram matrix carries the columns to twice
// their precision; that is what lets a panel be factored from it (gram_factor.cuh). Its columns
// need no scaling: FP64 holds the squares of all FP32 numbers.
#ifndef KBENCH_QR_BLOCKED_GRAM_SUMS_CUH
#define KBENCH_QR_BLOCKED_GRAM_SUMS_CUH

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
constexpr int k_below = k_gram_tiles * 64;  // this value is not 0 if the panel is not triangular
constexpr int k_side = 16;                  // columns of a diagonal block

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

/// The rows of one block.
struct GramWalk {
  const float* panel;  // the panel's first element
  std::int64_t n;
  GramRows rows;
  bool vector;
};

/// What one thread copies of every stage: one unit of four columns in each of `Lines` rows, the
/// same in all stages, so that only constants are added from stage to stage.
template <int Threads>
struct GramFeed {
  static constexpr int k_units = k_block / 4;
  static constexpr int k_step = Threads / k_units;  // rows from one line to the next
  static constexpr int k_lines = k_stage_rows / k_step;
  static constexpr int k_stage_units = k_stage_rows * k_units;
  static_assert(k_step % 4 == 0, "the swizzle is the same in all lines");

  const float* from;
  std::int64_t n;
  float4* to;  // in the first stage
  int left;    // rows from the first line on
  bool vector;

  __device__ __forceinline__ GramFeed(const GramWalk& walk, float4* stages, int thread)
      : from(walk.panel + (walk.rows.begin + thread / k_units) * walk.n + thread % k_units * 4),
        n(walk.n),
        to(stages + staged_unit(thread / k_units, thread % k_units)),
        left(walk.rows.end - walk.rows.begin - thread / k_units),
        vector(walk.vector) {}

  /// Starts the copies of the next stage, into `stage`; rows outside become zero.
  __device__ __forceinline__ void fetch(int stage) {
#pragma unroll
    for (int k = 0; k < k_lines; ++k) {
      const bool inside = k * k_step < left;
      const float* source = from + k * k_step * n;  // not read unless inside
      float4* target = to + stage * k_stage_units + k * k_step * k_units;
      if (vector) {
        copy_async(target, source, inside);
      } else {
#pragma unroll 1
        for (int c = 0; c < 4; ++c) {
          copy_async_word(reinterpret_cast<float*>(target) + c, source + c, inside);
        }
      }
    }
    copy_commit();
    from += k_stage_rows * n;
    left -= k_stage_rows;
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
/// reads rows lane % 4 and four below of its columns 8 (lane / 4) .. + 7. The last quarter, which
/// needs the fewest, joins to `below` the bits of all that lies below the diagonal.
template <int Quarter>
__device__ __forceinline__ void add_stage(double (&sum)[k_gram_products][4], unsigned& below,
                                          const float4* stage, int first_row, const Team& team) {
  const int column = team.lane / 4 * 8;
#pragma unroll 1
  for (int first = team.warp / 4 * 8; first < k_stage_rows; first += team.warps / 4 * 8) {
    float x[2][8];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first + 4 * half + team.lane % 4;
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const float4 four = stage[staged_unit(row, column / 4 + c)];
        x[half][4 * c] = four.x, x[half][4 * c + 1] = four.y;
        x[half][4 * c + 2] = four.z, x[half][4 * c + 3] = four.w;
      }
      if constexpr (Quarter == 3) {
        if (first_row >= k_block) {
#pragma unroll
          for (int t = 0; t < 8; ++t) below |= __float_as_uint(x[half][t]);
        } else {
#pragma unroll
          for (int t = 0; t < 8; ++t) {
            below |= first_row + row > column + t ? __float_as_uint(x[half][t]) : 0;
          }
        }
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

/// The Gram matrix of the whole panel, the same bits in all blocks of the team; where it lies.
template <bool Cluster, int Warps>
__device__ __forceinline__ const double* sum_gram(GramShared& shared, const GramWalk& walk,
                                                  const Team& team) {
  constexpr int threads = Warps * 32, splits = Warps / 4;
  const int thread = team.warp * 32 + team.lane, split = team.warp / 4;
  const int rows = walk.rows.end - walk.rows.begin;
  auto* ring = reinterpret_cast<float4*>(&shared.weights[0][0]);
  GramFeed<threads> feed(walk, ring, thread);
#pragma unroll 1
  for (int stage = 0; stage < k_gram_stages - 1; ++stage) feed.fetch(stage);
  double sum[k_gram_products][4] = {};
  unsigned below = 0;
#pragma unroll 1
  for (int row = 0, stage = 0; row < rows; row += k_stage_rows) {
    copy_wait<k_gram_stages - 2>();
    block_barrier();  // the stage has arrived, and the one before it is read no more
    feed.fetch((stage + k_gram_stages - 1) % k_gram_stages);
    const float4* at = ring + stage * GramFeed<threads>::k_stage_units;
    by_quarter(team.warp, [&](auto quarter) {
      add_stage<quarter>(sum, below, at, walk.rows.begin + row, team);
    });
    stage = (stage + 1) % k_gram_stages;
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
  const bool any = block_any((below & 0x7fffffffu) != 0);
#pragma unroll 3
  for (int k = thread; k < k_below; k += threads) shared.sums[0][k] += shared.sums[1][k];
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
