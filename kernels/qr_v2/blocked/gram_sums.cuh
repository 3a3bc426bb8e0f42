// The Gram matrix of a panel of 64 columns in FP64, on the tensor cores.
//
// Products of two FP32 numbers are exact in FP64, so the Gram matrix carries the columns to twice
// their precision; that is what lets a panel be factored from it (gram_factor.cuh). Its columns
// need no scaling: FP64 holds the squares of all FP32 numbers.
#ifndef KBENCH_QR_BLOCKED_GRAM_SUMS_CUH
#define KBENCH_QR_BLOCKED_GRAM_SUMS_CUH

#include <cstddef>
#include <type_traits>

#include "team.cuh"

namespace blocked {

constexpr int k_gram_warps = 8;            // where two panels share a multiprocessor
constexpr int k_wide_gram_warps = 16;      // where a panel has one for itself
constexpr int k_gram_splits = 2;           // copies of the sums
constexpr int k_gram_products = 10;        // of 16 x 8, by one warp: half of them
constexpr int k_gram_tiles = 36;           // of 8 x 8, those with first <= second
constexpr int k_gram_pitch = k_block + 4;  // no fragment of 8 x 4 or 4 x 8 meets a bank twice
constexpr int k_gram_values = k_gram_tiles * 64;
constexpr int k_side = 16;         // columns of a diagonal block
constexpr int k_told_columns = 4;  // so many at a time are told to the warps that follow
constexpr int k_told = k_side / k_told_columns;

/// Coefficients of one diagonal block's substitution: [j][h][k] multiplies element 2 (j / 2 + k) +
/// h; what lies beyond the block is never set and multiplies what is never used.
using Substitution = double[k_side][2][k_side / 2];

/// Shared memory of a Gram panel. The union separates what no two phases need at once.
struct GramShared {
  union {
    double sums[k_gram_splits][k_gram_values + 2];  // the last ones: `below` of a block
    double product[k_block][k_gram_pitch];          // Y, whose inverse M is; then R M; then U^-1
  };
  double weights[k_block][k_block];     // G, then the Cholesky factor C, then M; columns swizzled
  double mixed[k_block][k_gram_pitch];  // R on and above the diagonal, L strictly below; then U
  alignas(16) Substitution by_c, by_l, by_y;
  double size[k_block];  // squared norm of each column
  double tau[k_block];
  double inverse_c[k_block], inverse_pivot[k_block];  // 1 / C_jj and its square
  double inverse[k_block];                            // 1 / Y_jj
  Message c_told[k_told], l_told[k_told];             // columns of a diagonal block, by fours
  double below;  // not 0 if the panel has anything but zeros below its diagonal
};

/// Rows [begin, end) of a panel, counted from its first row: those of one block of the team.
struct GramRows {
  int begin, end;
};

/// Tile t holds the columns 8 g + t, g = 0 .. 7, so that a lane reads 8 neighbours of one row.
__host__ __device__ constexpr int gram_tile(int first, int second) {
  return first * 8 - first * (first - 1) / 2 + second - first;
}

/// Column of `weights` in shared memory: lanes that read a fragment of them meet no bank twice.
__device__ __forceinline__ int swizzled(int row, int column) {
  return column ^ ((row >> 2 & 1) * 2 | (row >> 3 & 1) * 8);
}

constexpr int k_stage_rows = 64;
constexpr int k_gram_stages = 4;  // of rows of the panel
constexpr int k_gram_stage_bytes = k_gram_stages * k_stage_rows * k_block * sizeof(float);
static_assert(k_gram_stage_bytes <= offsetof(GramShared, mixed));

/// Where the stages lie: behind the rest, where the rows of the tail come later, or, where two
/// panels share a multiprocessor, over `sums` and `weights`. In a cluster other blocks store into
/// `weights`.
template <int Warps>
__device__ __forceinline__ float4* gram_stages(GramShared& shared) {
  return reinterpret_cast<float4*>(&shared + (Warps > k_gram_warps ? 1 : 0));
}

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
  float4* to;   // in the first stage
  int n, left;  // rows from the first line on
  bool vector;

  __device__ __forceinline__ GramFeed(const GramWalk& walk, float4* stages, int thread)
      : from(walk.panel + (walk.rows.begin + thread / k_units) * walk.n + thread % k_units * 4),
        to(pinned(stages + staged_unit(thread / k_units, thread % k_units))),
        n(static_cast<int>(walk.n)),
        left(walk.rows.end - walk.rows.begin - thread / k_units),
        vector(walk.vector) {}

  /// Starts the copies of the next stage, into `stage`; rows outside become zero.
  __device__ __forceinline__ void fetch(int stage) {
    float4* target = to + stage * k_stage_units;
    if (vector) {
#pragma unroll
      for (int k = 0; k < k_lines; ++k) {
        // Not read unless inside.
        copy_async(target + k * k_step * k_units, from + k * k_step * n, k * k_step < left);
      }
    } else {
#pragma unroll 1
      for (int k = 0; k < 4 * k_lines; ++k) {
        const int line = k / 4 * k_step, c = k % 4;
        copy_async_word(reinterpret_cast<float*>(target + line * k_units) + c, from + line * n + c,
                        line < left);
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
/// The k-th product of a half of the warps: those of pairs 0 and 3, or 1 and 2.
__host__ __device__ constexpr GramProduct gram_product(int half, int k) {
  const bool outer = half == 0 ? k < 8 : k < 6;
  return half == 0 ? GramProduct{outer ? 0 : 3, outer ? k : k - 2}
                   : GramProduct{outer ? 1 : 2, outer ? k + 2 : k - 2};
}

/// What a lane holds of eight rows: rows lane % 4 and four below, columns 8 (lane / 4) .. + 7.
using GramTile = float[2][8];

/// Where a lane's first two units lie in a stage; the swizzle is the same in every fourth row.
struct GramPlace {
  const float4* unit[2];

  __device__ __forceinline__ GramPlace(const float4* ring, int first, int lane) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      unit[c] = pinned(ring + staged_unit(first + lane % 4, lane / 4 * 2 + c));
    }
  }
  /// The rows `row` below, a multiple of four.
  __device__ __forceinline__ void take(GramTile& x, int row) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const float4 four = unit[c][(row + 4 * half) * (k_block / 4)];
        x[half][4 * c] = four.x, x[half][4 * c + 1] = four.y;
        x[half][4 * c + 2] = four.z, x[half][4 * c + 3] = four.w;
      }
    }
  }
};

/// Adds half of the products of eight rows.
template <int Half>
__device__ __forceinline__ void add_products(double (&sum)[k_gram_products][4], const GramTile& x) {
#pragma unroll
  for (int k = 0; k < k_gram_products; ++k) {
    const int pair = gram_product(Half, k).pair, second = gram_product(Half, k).second;
    multiply_add(sum[k], {x[0][2 * pair], x[0][2 * pair + 1], x[1][2 * pair], x[1][2 * pair + 1]},
                 {x[0][second], x[1][second]});
  }
}

/// One warp's products into its copy of the sums, as the first or added to what is there.
template <int Half>
__device__ __forceinline__ void put_sums(double (&to)[k_gram_values + 2],
                                         const double (&sum)[k_gram_products][4], int lane,
                                         bool first) {
#pragma unroll
  for (int k = 0; k < k_gram_products; ++k) {
    const int pair = gram_product(Half, k).pair, second = gram_product(Half, k).second;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (2 * pair + half > second) continue;
      double* at = &to[2 * lane + gram_tile(2 * pair + half, second) * 64];
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const double own = sum[k][2 * half + e];
        at[e] = first ? own : at[e] + own;
      }
    }
  }
}

/// Which half of the products a warp adds up: each quarter of the multiprocessor has both.
__device__ __forceinline__ int gram_half(int warp) { return (warp ^ warp >> 2) & 1; }

/// The place of element k of the sums in G, on or above the diagonal; null where a tile has it
/// twice.
__device__ __forceinline__ double* gram_place(GramShared& shared, int k) {
  if (k == k_gram_values) return &shared.below;
  int second = k / 64, first = 0;
#pragma unroll
  for (int t = 1; t < 8; ++t) first += second >= gram_tile(t, t);
  second += first - gram_tile(first, first);
  const int i = k % 64 / 8 * 8 + first, c = k % 8 * 8 + second;
  if (first == second && i > c) return nullptr;
  const int row = i < c ? i : c, column = i < c ? c : i;
  return &shared.weights[row][swizzled(row, column)];
}

/// Adds the first copies of the blocks of a cluster, a share each, into the place of all of them.
__device__ __forceinline__ void add_blocks(GramShared& shared, int thread, int threads,
                                           const Team& team) {
  cluster_barrier();
  const int share = (k_gram_values + team.ranks) / team.ranks, first = team.rank * share;
  const int end = first + share <= k_gram_values ? first + share : k_gram_values + 1;
#pragma unroll 1
  for (int k = first + thread; k < end; k += threads) {
    double parts[k_max_ranks];
#pragma unroll
    for (int rank = 0; rank < k_max_ranks; ++rank) {
      parts[rank] = rank < team.ranks ? load_twin(&shared.sums[0][k], rank) : 0;
    }
    double sum = 0;
#pragma unroll
    for (int rank = 0; rank < k_max_ranks; ++rank) sum += parts[rank];
    double* at = gram_place(shared, k);
#pragma unroll
    for (int rank = 0; rank < k_max_ranks; ++rank) {
      if (rank < team.ranks && at != nullptr) store_twin(at, rank, sum);
    }
  }
  cluster_barrier();
}

/// The Gram matrix of the whole panel, the same bits in all blocks of the team, into `weights` on
/// and above the diagonal; and `below`.
/// `look_at_top`, called once the first copies are under way: whether this thread saw an element
/// below the diagonal, in the top rows, that is not 0.
template <bool Cluster, int Warps, class LookAtTop>
__device__ __forceinline__ void sum_gram(GramShared& shared, const GramWalk& walk,
                                         const LookAtTop& look_at_top, const Team& team) {
  constexpr int threads = Warps * 32, splits = Warps / 2;
  const int thread = team.warp * 32 + team.lane, split = team.warp / 2;
  const bool outer = gram_half(team.warp) == 0;
  float4* ring = gram_stages<Warps>(shared);
  GramFeed<threads> feed(walk, ring, thread);
#pragma unroll 1
  for (int stage = 0; stage < k_gram_stages - 1; ++stage) feed.fetch(stage);
  const bool below = look_at_top();
  const GramPlace place(ring, split * 8, team.lane);
  double sum[k_gram_products][4] = {};
  unsigned seen = 0;
  int stage = 0;
#pragma unroll 1
  for (int row = walk.rows.begin; row < walk.rows.end; row += k_stage_rows) {
    copy_wait<k_gram_stages - 2>();
    block_barrier();  // the stage has arrived, and the one before it is read no more
    feed.fetch((stage + k_gram_stages - 1) % k_gram_stages);
#pragma unroll 1
    for (int first = 0; first < k_stage_rows; first += splits * 8) {
      GramTile x;
      place.take(x, stage * k_stage_rows + first);
      if (row >= k_block) {  // the bits of all magnitudes, joined
#pragma unroll
        for (int t = 0; t < 16; ++t) seen |= __float_as_uint(x[t / 8][t % 8]);
      }
      if (outer) {
        add_products<0>(sum, x);
      } else {
        add_products<1>(sum, x);
      }
    }
    stage = (stage + 1) % k_gram_stages;
  }
  copy_wait<0>();
  block_barrier();  // the last stage is read no more
#pragma unroll 1
  for (int turn = 0; turn < splits / k_gram_splits; ++turn) {
    if (split / k_gram_splits == turn) {
      auto& to = shared.sums[split % k_gram_splits];
      if (outer) {
        put_sums<0>(to, sum, team.lane, turn == 0);
      } else {
        put_sums<1>(to, sum, team.lane, turn == 0);
      }
    }
    block_barrier();
  }
  const bool any = block_any(below || (seen & 0x7fffffffu) != 0);
  if constexpr (Cluster) {
    if (thread == 0) shared.sums[0][k_gram_values] = any ? 1 : 0;
#pragma unroll 3
    for (int k = thread; k < k_gram_values; k += threads) shared.sums[0][k] += shared.sums[1][k];
    add_blocks(shared, thread, threads, team);
  } else {
    if (thread == 0) shared.below = any ? 1 : 0;
#pragma unroll 1
    for (int k = thread; k < k_gram_values; k += threads) {
      double* at = gram_place(shared, k);
      if (at != nullptr) *at = shared.sums[0][k] + shared.sums[1][k];
    }
    block_barrier();
  }
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_GRAM_SUMS_CUH
