// How the lower triangle of a matrix is cut into 64 x 64 blocks, in which order they are dealt to
// the thread blocks of a cluster, and where each of these keeps what in its shared memory.
//
// Block columns die from the left, one every 64 steps. Dealt from the last column to the first,
// the blocks still alive are at any time the first ones of everybody's share, so the work stays
// even and the blocks that live longest get the fastest memory: registers, then shared memory.
#ifndef KBENCH_EIGH_TRIDIAGONAL_BLOCKS_CUH
#define KBENCH_EIGH_TRIDIAGONAL_BLOCKS_CUH

#include <cstdint>

#include "primitives.cuh"

namespace tridiagonal {

constexpr int k_side = 64;
constexpr int k_block_elements = k_side * k_side;
constexpr int k_warps = 8;
constexpr int k_threads = k_warps * 32;
constexpr int k_max_ranks = 16;
/// Up to here every offset fits an int. One matrix of this size needs more memory than any device
/// has today.
constexpr int k_max_n = 1 << 16;
/// From this many thread blocks on, sums are added where they are owned, and sent on from there.
constexpr int k_two_stage_ranks = 8;

__host__ __device__ constexpr int block_rows(int n) { return (n + k_side - 1) / k_side; }
__host__ __device__ constexpr int triangle(int rows) { return rows * (rows + 1) / 2; }

/// A block of the lower triangle by its block row and column.
struct Place {
  int row, column;
};
__device__ __forceinline__ Place place_of(int order, int rows) {
  int t = 0;
  while (triangle(t + 1) <= order) ++t;
  const int column = rows - 1 - t;
  return {column + order - triangle(t), column};
}
__device__ __forceinline__ int order_of(const Place& place, int rows) {
  return triangle(rows - 1 - place.column) + place.row - place.column;
}

/// log2 of a number of thread blocks, which is a power of two up to k_max_ranks. The reduction
/// divides by it in every step, and a division takes as long as forty additions.
__host__ __device__ constexpr int rank_shift(int ranks) {
  return (ranks > 1 ? 1 : 0) + (ranks > 2 ? 1 : 0) + (ranks > 4 ? 1 : 0) + (ranks > 8 ? 1 : 0);
}
/// How many of the first `count` blocks are rank's.
__host__ __device__ constexpr int share_of(int count, int rank, int ranks) {
  return (count - rank + ranks - 1) >> rank_shift(ranks);
}

/// Where a thread block keeps what it needs beside matrix blocks. Outside means a part of the
/// workspace, for matrices whose vectors and sums are too many for shared memory; what other thread
/// blocks write to stays in shared memory even then.
enum class Home { shared, outside };

/// Byte offsets into a thread block's shared memory, or its part of the workspace of
/// `outside_bytes` (see Home). `padded` is n up to whole blocks; each thread block holds at most
/// `blocks` matrix blocks, those that it keeps in shared memory from `resident` on.
struct SharedLayout {
  int padded, blocks;
  int column, total, parts, scalars, resident;
  int x, v, w, sums, starts, entries, places;  // nobody else's: outside if asked for
  int outside_bytes;
};

/// Numbers every thread reads: norms and leading entries of two steps, sums over warps and ranks.
struct Scalars {
  float tail_squares[2][k_warps];
  float leading[2];
  float warp_forms[k_warps];
  float rank_forms[2][k_max_ranks];
  float largest[k_max_ranks];  // bits of magnitudes
};

/// With one thread block the columns, which nobody else writes to either, are outside, too.
__host__ __device__ inline SharedLayout shared_layout(int n, int ranks, Home home) {
  SharedLayout layout{};
  const int rows = block_rows(n);
  layout.padded = rows * k_side;
  layout.blocks = share_of(triangle(rows), 0, ranks);
  int shared = 0, outside = 0;
  const auto take_from = [](int& at, int bytes) {
    const int from = at;
    at += (bytes + 15) / 16 * 16;
    return from;
  };
  const auto take = [&](int bytes) { return take_from(shared, bytes); };
  const auto take_own = [&](int bytes) {
    return take_from(home == Home::outside ? outside : shared, bytes);
  };
  const int vector = layout.padded * 4;
  const bool two_stage = ranks >= k_two_stage_ranks;
  layout.x = take_own(vector);
  layout.v = take_own(vector);
  layout.w = take_own(vector);
  layout.column = ranks == 1 ? take_own(2 * vector) : take(2 * vector);
  layout.total = take(two_stage ? vector : 0);
  // Groups of four rows are dealt to the ranks: an owner's inbox has room for whole rounds.
  layout.parts = take(ranks == 1  ? 0
                      : two_stage ? (layout.padded / 4 + ranks - 1) / ranks * ranks * 16
                                  : 2 * ranks * vector);
  layout.sums = take_own(layout.blocks * 2 * k_side * 4);
  layout.scalars = take(static_cast<int>(sizeof(Scalars)));
  layout.starts = take_own((rows + 1) * 4);
  layout.entries = take_own(layout.blocks * 2 * 4);
  layout.places = take_own(layout.blocks * static_cast<int>(sizeof(Place)));
  layout.resident = shared;
  layout.outside_bytes = outside;
  return layout;
}

}  // namespace tridiagonal

#endif  // KBENCH_EIGH_TRIDIAGONAL_BLOCKS_CUH
