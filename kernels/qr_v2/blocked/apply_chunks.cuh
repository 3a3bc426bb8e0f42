// How the warps of a strip walk over their rows, sixteen at a time: the copies of C and of the
// reflectors into shared memory, several chunks ahead, and the way of C back to the factor.
//
// Every address of a walk is found once; from chunk to chunk constants are added. Knows nothing of
// what is done with a chunk.
#ifndef KBENCH_QR_BLOCKED_APPLY_CHUNKS_CUH
#define KBENCH_QR_BLOCKED_APPLY_CHUNKS_CUH

#include <cstddef>

#include "apply_products.cuh"

namespace blocked {

/// Chunks under way or in use at once.
template <int RG>
constexpr int k_stages = RG == 1 ? 5 : 3;

/// What one apply launch works on: columns [begin, end) of rows [row, n) of every matrix, by one
/// block of reflectors or by a pair of them.
struct ApplyTask {
  const float* source;                     // [batch, n, n] row-major
  float* factor;                           // [batch, n, n] row-major, may be `source`
  const std::uint16_t* reflectors;         // [batch, reflector_elements(n)]
  const float* block;                      // [batch, k_block, k_block]: T
  const std::uint16_t* second_reflectors;  // of a pair: those of its second block, whose rows begin
  const float* second_block;               // k_block below `row`, and its T
  const float* cross;                      // [batch, k_block, k_block]: S = V_1^T V_2
  const int* doubtful;                     // [batch]: as in PanelTask
  int n;
  int row;
  int begin, end;
  int strips;    // of CG * 32 columns, or of `width`
  int width;     // columns of a strip, of apply_wide
  int ranks;     // blocks that share the rows of a strip
  int slots;     // chunks of C that shared memory holds: k_stages or all of a block's, or more
  bool settled;  // with `doubtful`: the matrices without the mark instead of those with it
};

template <int K, int RG>
using ReflectorRing = std::uint16_t[k_stages<RG>][RG * k_tile_rows][padded(2 * K)];
/// Both: high parts, then low; see Products::k_factors.
template <int K>
using FactorPairs =
    std::uint16_t[Products<K>::k_factors][2][Products<K>::k_width][padded(Products<K>::k_width)];

/// What one block shares, before the slots of C. Between the passes T, and before it the parts of
/// the product, lie over the ring; in the strip ahead T has a place of its own, where it is from
/// the first.
template <int K, int CG, int RG, bool Ahead>
struct ApplyShared {
  alignas(16) unsigned largest[CG * RG];
  union {
    ReflectorRing<K, RG> ring;
    FactorPairs<K> factors;
  };
};
template <int K, int CG, int RG>
struct ApplyShared<K, CG, RG, true> {
  alignas(16) unsigned largest[CG * RG];
  FactorPairs<K> factors;
  ReflectorRing<K, RG> ring;
};
template <int CG, int RG>
constexpr int k_chunk_bytes = CG* RG * 32 * 16 * 4;

/// Bytes before the slots.
template <int K, int CG, int RG, bool Ahead>
__host__ __device__ constexpr int apply_fixed_bytes(bool has_parts) {
  using Shared = ApplyShared<K, CG, RG, Ahead>;
  constexpr int own = sizeof(Shared);
  constexpr int with_parts = offsetof(Shared, ring) + CG * RG * K * 32 * 4;
  return has_parts && with_parts > own ? with_parts : own;
}

/// The chunks of one warp: RG tiles of 16 rows, of which it works on one, by CG strips of columns.
template <int K, int CG, int RG, bool Vector, bool Ahead>
struct ApplyChunks {
  static constexpr int k_warps = CG * RG, k_threads = k_warps * 32;
  static constexpr int k_chunk_rows = RG * k_tile_rows;
  static constexpr int k_slot_units = k_warps * k_tile_rows * 8;  // float4 of a chunk of C
  static constexpr int k_pitch = Products<K>::k_pitch;
  /// A thread copies one 16-byte unit of every k_line_step-th row of a chunk's reflectors.
  static constexpr int k_line_units = K / 4;
  static constexpr int k_line_step = k_threads / k_line_units;
  static_assert(k_chunk_rows % k_line_step == 0);

  const ApplyTask& task;
  ApplyShared<K, CG, RG, Ahead>& shared;
  float4* cache;  // [slot][warp][16 rows][8], see unit_at
  int lane, warp, row_group;
  int first, count;  // chunks of this block
  int column;        // this warp's first
  const float* source;
  float* factor;
  const std::uint16_t *reflectors, *second_reflectors;

  /// A lane's rows of a tile are its first one and those 1, 8 and 9 below it.
  __device__ __forceinline__ static constexpr int below(int k) { return k % 2 + k / 2 * 8; }
  /// The first row of a chunk of this block.
  __device__ __forceinline__ int row_of(int chunk) const {
    return task.row + (first + chunk) * k_chunk_rows;
  }
  /// Where four neighbouring columns of a row lie. A quarter of a warp that takes its part of a
  /// tile reads two neighbouring units of four rows that are two apart, and no bank twice.
  __device__ __forceinline__ static constexpr int unit_at(int row, int unit) {
    return row * 8 + (unit ^ (row & 6));
  }
  /// In slot 0.
  __device__ __forceinline__ float4* own_unit(int row, int unit) const {
    return pinned(cache + warp * k_tile_rows * 8 + unit_at(row, unit));
  }

  /// What this thread copies next in a pass.
  struct Feed {
    const float* tile;                // its first unit of C
    const std::uint16_t* reflectors;  // its first unit of them
    float4 *even, *odd;               // where its units of C go in slot 0, by turns
    std::uint16_t* ring;              // where those of the reflectors go in stage 0
    int rows, lines;                  // left in the matrix from the first units on
    int half;                         // from a unit to its like four lines below, beside the lines
    int step, slot;
  };
  template <bool Upwards>
  __device__ __forceinline__ Feed first_feed() const {
    const int start = row_of(Upwards ? 0 : count - 1);
    const int row = start + row_group * k_tile_rows + lane / 8, left = column + lane % 8 * 4;
    const int thread = warp * 32 + lane;
    const int line = thread / k_line_units, unit = thread % k_line_units;
    const int part = unit / (K / 8), place = unit % (K / 8) * 8;
    Feed feed;
    feed.tile = source + static_cast<std::int64_t>(row) * task.n + left;
    const bool second = K > k_block && place >= k_block;
    feed.reflectors = (second ? second_reflectors : reflectors) +
                      reflector_at(start + line, place % k_block) + part * k_low_part;
    feed.half = place / 32 % 2 == line / 4 % 2 ? 32 : -32;
    feed.even = own_unit(lane / 8, lane % 8);
    feed.odd = own_unit(lane / 8 + 4, lane % 8);
    feed.ring = pinned(&shared.ring[0][line][part * K + place]);
    feed.rows = (left < task.end ? task.n : 0) - row;
    feed.lines = task.n - start - line;
    feed.step = 0;
    feed.slot = first_slot<Upwards>();
    return feed;
  }

  template <bool Upwards>
  __device__ __forceinline__ int first_slot() const {
    return Upwards || count == 0 ? 0 : (count - 1) % task.slots;
  }
  template <bool Upwards>
  __device__ __forceinline__ int next_slot(int slot) const {
    if constexpr (Upwards) return slot + 1 == task.slots ? 0 : slot + 1;
    return (slot == 0 ? task.slots : slot) - 1;
  }

  /// Starts the copy of this warp's tile of C. Eight lanes copy a whole row of 128 bytes, in order:
  /// scattered among the lanes of a tile, a copy fetches every sector twice.
  __device__ __forceinline__ void fetch_tile(const Feed& feed) const {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const bool inside = feed.rows > 4 * k;
      const float* at = feed.tile + task.n * (4 * k);
      float4* to = (k % 2 == 0 ? feed.even : feed.odd) + feed.slot * k_slot_units + k / 2 * 64;
      if constexpr (Vector) {
        copy_async(to, at, inside);
      } else {
        const int columns = task.end - column - lane % 8 * 4;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          copy_async_word(reinterpret_cast<float*>(to) + j, at + j, inside && j < columns);
        }
      }
    }
  }

  __device__ __forceinline__ static constexpr int group_offset(int line) {
    return line / k_group_rows * k_group_elements + line % k_group_rows * k_block;
  }

  /// Starts the copy of a chunk's reflectors; rows below the matrix become zero.
  __device__ __forceinline__ void fetch_reflectors(const Feed& feed, int stage) const {
    std::uint16_t* to = feed.ring + stage * (k_chunk_rows * k_pitch);
#pragma unroll
    for (int line = 0; line < k_chunk_rows; line += k_line_step) {
      const bool inside = feed.lines > line;
      const int across = line % k_group_rows == 0 ? 0 : feed.half;
      copy_async(to + line * k_pitch, feed.reflectors + group_offset(line) + across, inside);
    }
  }

  /// Starts what the next step of a pass needs. In the second pass the first chunks are in their
  /// slots from the first.
  template <bool Upwards>
  __device__ __forceinline__ void fetch(Feed& feed, int stage) const {
    if (feed.step < count) {
      fetch_reflectors(feed, stage);
      if (Upwards || feed.step >= task.slots) fetch_tile(feed);
      constexpr int rows = Upwards ? k_chunk_rows : -k_chunk_rows;
      feed.tile += task.n * rows;
      feed.reflectors += rows / k_group_rows * k_group_elements;
      feed.rows -= rows;
      feed.lines -= rows;
      feed.slot = next_slot<Upwards>(feed.slot);
    }
    ++feed.step;
    copy_commit();
  }

  /// Starts what the first steps of a pass need.
  template <bool Upwards>
  __device__ __forceinline__ Feed start() const {
    Feed feed = first_feed<Upwards>();
#pragma unroll 1
    for (int stage = 0; stage < k_stages<RG> - 1; ++stage) fetch<Upwards>(feed, stage);
    return feed;
  }

  /// Calls work(tile, row, fetch) for every chunk, upwards or downwards: this lane's first unit of
  /// C, its place, `place` within a tile's reflectors, and what starts the copies of a later chunk,
  /// to be called once. `feed`: of a pass that was started.
  template <bool Upwards, class Work>
  __device__ __forceinline__ void for_each(Feed feed, int place, const Work& work) const {
    constexpr int stages = k_stages<RG>;
    const float4* tile = own_unit(lane % 4 * 2, lane / 4);
    const std::uint16_t* row = pinned(&shared.ring[0][row_group * k_tile_rows][place]);
    int stage = 0, freed = stages - 1, slot = first_slot<Upwards>();
#pragma unroll 1
    for (int left = count; left > 0; --left) {
      copy_wait<stages - 2>();
      block_barrier();  // the stage has arrived, and the one before it is no longer read
      work(tile + slot * k_slot_units, row + stage * (k_chunk_rows * k_pitch),
           [&] { fetch<Upwards>(feed, freed); });
      freed = stage;
      stage = stage + 1 == stages ? 0 : stage + 1;
      slot = next_slot<Upwards>(slot);
    }
    copy_wait<0>();
    block_barrier();
  }

  __device__ __forceinline__ static void take_tile(Tile& c, const float4* tile) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float4 four = tile[below(k) * 8];
      c[4 * k] = four.x, c[4 * k + 1] = four.y, c[4 * k + 2] = four.z, c[4 * k + 3] = four.w;
    }
  }

  /// Where this lane's elements of a chunk go in the factor.
  struct Target {
    float* at;
    int rows;  // left in the matrix
  };
  __device__ __forceinline__ Target target_of(int chunk) const {
    const int row = row_of(chunk) + row_group * k_tile_rows + lane % 4 * 2;
    const int left = column + lane / 4 * 4;
    return {factor + static_cast<std::int64_t>(row) * task.n + left,
            (left < task.end ? task.n : 0) - row};
  }
  /// Stores a tile and moves the target by `chunk_step` chunks.
  __device__ __forceinline__ void store_tile(const Tile& c, Target& target, int chunk_step) const {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const bool inside = target.rows > below(k);
      float* at = target.at + task.n * below(k);
      if constexpr (Vector) {
        const float4 four = {c[4 * k], c[4 * k + 1], c[4 * k + 2], c[4 * k + 3]};
        if (inside) *reinterpret_cast<float4*>(at) = four;
      } else {
        const int columns = task.end - column - lane / 4 * 4;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (inside && j < columns) at[j] = c[4 * k + j];
        }
      }
    }
    target.at += task.n * (chunk_step * k_chunk_rows);
    target.rows -= chunk_step * k_chunk_rows;
  }
};

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_APPLY_CHUNKS_CUH
