// Applies a block reflector to the columns that follow it: C <- C - V T^T (V^T C), in place or
// from the input matrix to the factor.
//
// A warp owns 32 columns and keeps the transposed products in registers: the accumulators of
// (V^T C)^T have the layout in which the next product takes its left operand, so nothing but the
// reflectors and T is exchanged through shared memory. C is read twice and written once, by
// asynchronous copies several chunks ahead; the second pass walks backwards, through the rows that
// are still in shared memory or in the L2 cache. Every FP32 product is three BF16 products (high
// high, high low, low high), summed in FP32.
//
// When a warp's columns are too few to fill the machine, RG warps of a block and the `ranks`
// blocks of a cluster share the rows and add their parts of V^T C in a fixed order.
#ifndef KBENCH_QR_BLOCKED_APPLY_CUH
#define KBENCH_QR_BLOCKED_APPLY_CUH

#include "apply_products.cuh"
#include "team.cuh"

namespace blocked {

constexpr int k_apply_warps = 4;
constexpr int k_apply_threads = k_apply_warps * 32;
/// Chunks under way or in use at once. The strips of k_block reflectors that four warps share are
/// few, so they take more of the shared memory than those of a panel, which share it with others.
template <int K, int RG>
constexpr int k_stages = RG == 1                   ? 5
                         : RG == 4 && K == k_block ? 4
                                                   : 3;

/// What one apply launch works on: columns [begin, end) of rows [row, n) of every matrix.
struct ApplyTask {
  const float* source;              // [batch, n, n] row-major
  float* factor;                    // [batch, n, n] row-major, may be `source`
  const std::uint16_t* reflectors;  // [batch, n, k_reflector_pitch]
  const float* block;               // [batch, k_block, k_block]: T
  const int* doubtful;              // [batch]: as in PanelTask
  int n;
  int row;
  int begin, end;
  int strips;  // of CG * 32 columns
  int ranks;   // blocks that share the rows of a strip
  int slots;   // chunks of C that shared memory holds: k_stages or all of a block's, or more
};

/// Shared memory of one block, before the slots of C. Between the passes T, and before it the parts
/// of the product, lie over the ring.
template <int K, int RG>
struct ApplyShared {
  alignas(16) unsigned largest[k_apply_warps];
  union {
    std::uint16_t ring[k_stages<K, RG>][RG * k_tile_rows][padded(2 * K)];  // high parts, then low
    std::uint16_t factor[2][K][padded(K)];
  };
};
template <int K>
constexpr int k_part_bytes = k_apply_warps* K * 32 * 4;
constexpr int k_chunk_bytes = k_apply_warps * 32 * 16 * 4;

/// Bytes before the slots.
template <int K, int RG>
__host__ __device__ constexpr int apply_fixed_bytes(bool has_parts) {
  constexpr int own = sizeof(ApplyShared<K, RG>);
  constexpr int with_parts = k_apply_warps * 4 + k_part_bytes<K>;
  return has_parts && with_parts > own ? with_parts : own;
}

/// A strip whose magnitudes are all below 2^-63 is multiplied by k_lift before the split: the low
/// BF16 parts of the smallest numbers would be subnormal. The bound is a bit of the exponent, so
/// that the magnitudes' bits can be joined by OR instead of compared.
constexpr float k_lift = 0x1p90f;
constexpr unsigned k_small_bits = (127u - 63u) << 23;
static_assert((k_small_bits & (k_small_bits - 1)) == 0);

template <int K, int CG, int RG, bool Vector>
struct Applier {
  static_assert(CG * RG == k_apply_warps);
  static constexpr int k_chunk_rows = RG * k_tile_rows;
  using Math = Products<K>;
  using Product = typename Math::Product;
  using Operand = typename Math::Operand;

  const ApplyTask& task;
  ApplyShared<K, RG>& shared;
  float* parts;   // [warp][K][32], also read by the other blocks of the cluster
  float4* cache;  // [slot][warp][16 rows][8], see unit_at
  int lane, warp, column_group, row_group, rank;
  int first_chunk, chunks;  // of this block
  int warp_column;          // this warp's first column
  const float* source;
  float* factor;
  const std::uint16_t* reflectors;
  const float* block;  // T

  /// A lane's rows of a tile are its first one and those 1, 8 and 9 below it.
  __device__ __forceinline__ static constexpr int below(int k) { return k % 2 + k / 2 * 8; }
  /// The first row of a chunk of this block.
  __device__ __forceinline__ int row_of(int chunk) const {
    return task.row + (first_chunk + chunk) * k_chunk_rows;
  }
  /// This warp's tile of the chunk in a slot: 16 rows of 8 float4, swizzled.
  __device__ __forceinline__ float4* tile_in(int slot) const {
    return cache + (slot * k_apply_warps + warp) * k_tile_rows * 8;
  }
  /// Where four neighbouring columns of a row lie. A quarter of a warp that takes its part of a
  /// tile reads two neighbouring units of four rows that are two apart, and no bank twice.
  __device__ __forceinline__ static constexpr int unit_at(int row, int unit) {
    return row * 8 + (unit ^ (row & 6));
  }

  /// A thread copies one 16-byte unit of every k_line_step-th row of a chunk's reflectors.
  static constexpr int k_line_units = K / 4;
  static constexpr int k_line_step = k_apply_threads / k_line_units;
  static_assert(k_chunk_rows % k_line_step == 0);

  /// What this thread copies next in a pass. Only constants are added from chunk to chunk.
  struct Feed {
    const float* tile;                // its first unit of C
    const std::uint16_t* reflectors;  // its first unit of them
    std::uint16_t* ring;              // where that goes in stage 0
    int rows, lines;                  // left in the matrix from these two units on
    int step, stage, slot;
  };
  template <bool Upwards>
  __device__ __forceinline__ Feed first_feed() const {
    const int chunk = Upwards ? 0 : chunks - 1, thread = warp * 32 + lane;
    const int row = row_of(chunk) + row_group * k_tile_rows + lane / 8;
    const int column = warp_column + lane % 8 * 4;
    const int line = thread / k_line_units, unit = thread % k_line_units;
    const int part = unit / (K / 8), place = unit % (K / 8) * 8;
    Feed feed;
    feed.tile = source + static_cast<std::int64_t>(row) * task.n + column;
    feed.reflectors = reflectors +
                      static_cast<std::int64_t>(row_of(chunk) + line) * k_reflector_pitch +
                      part * k_block + place;
    feed.ring = &shared.ring[0][line][part * K + place];
    feed.rows = (column < task.end ? task.n : 0) - row;
    feed.lines = task.n - row_of(chunk) - line;
    feed.step = feed.stage = 0;
    feed.slot = first_slot<Upwards>();
    return feed;
  }

  template <bool Upwards>
  __device__ __forceinline__ int first_slot() const {
    return Upwards || chunks == 0 ? 0 : (chunks - 1) % task.slots;
  }
  template <bool Upwards>
  __device__ __forceinline__ int next_slot(int slot) const {
    if constexpr (Upwards) return slot + 1 == task.slots ? 0 : slot + 1;
    return (slot == 0 ? task.slots : slot) - 1;
  }
  __device__ __forceinline__ static int next_stage(int stage) {
    return stage + 1 == k_stages<K, RG> ? 0 : stage + 1;
  }

  /// Starts the copy of this warp's tile of C. Eight lanes copy a whole row of 128 bytes, in order:
  /// scattered among the lanes of a tile, a copy fetches every sector twice.
  __device__ __forceinline__ void fetch_tile(const Feed& feed) const {
    float4* tile = tile_in(feed.slot);
    float4* even = tile + unit_at(lane / 8, lane % 8);
    float4* odd = tile + unit_at(lane / 8 + 4, lane % 8);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const bool inside = feed.rows > 4 * k;
      const float* at = feed.tile + static_cast<std::int64_t>(task.n) * (4 * k);
      float4* to = (k % 2 == 0 ? even : odd) + k / 2 * 64;
      if constexpr (Vector) {
        copy_async(to, at, inside);
      } else {
        const int columns = task.end - warp_column - lane % 8 * 4;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          copy_async_word(reinterpret_cast<float*>(to) + j, at + j, inside && j < columns);
        }
      }
    }
  }

  /// Starts the copy of a chunk's reflectors; rows below the matrix become zero.
  __device__ __forceinline__ void fetch_reflectors(const Feed& feed) const {
    std::uint16_t* to = feed.ring + feed.stage * (k_chunk_rows * Math::k_pitch);
#pragma unroll
    for (int line = 0; line < k_chunk_rows; line += k_line_step) {
      copy_async(to + line * Math::k_pitch, feed.reflectors + line * k_reflector_pitch,
                 feed.lines > line);
    }
  }

  /// Starts what the next step of a pass needs. In the second pass the first chunks are in their
  /// slots from the first.
  template <bool Upwards>
  __device__ __forceinline__ void fetch(Feed& feed) const {
    if (feed.step < chunks) {
      fetch_reflectors(feed);
      if (Upwards || feed.step >= task.slots) fetch_tile(feed);
    }
    copy_commit();
    constexpr int rows = Upwards ? k_chunk_rows : -k_chunk_rows;
    feed.tile += static_cast<std::int64_t>(task.n) * rows;
    feed.reflectors += rows * k_reflector_pitch;
    feed.rows -= rows;
    feed.lines -= rows;
    ++feed.step;
    feed.stage = next_stage(feed.stage);
    feed.slot = next_slot<Upwards>(feed.slot);
  }

  /// Calls work(slot, stage) for every chunk, upwards or downwards, its elements of C in the slot
  /// and its reflectors in the stage.
  template <bool Upwards, class Work>
  __device__ __forceinline__ void for_each_chunk(const Work& work) const {
    constexpr int stages = k_stages<K, RG>;
    Feed feed = first_feed<Upwards>();
#pragma unroll 1
    for (int k = 0; k < stages - 1; ++k) fetch<Upwards>(feed);
    int stage = 0, slot = first_slot<Upwards>();
#pragma unroll 1
    for (int left = chunks; left > 0; --left) {
      copy_wait<stages - 2>();
      block_barrier();  // the stage has arrived, and the one before it is no longer read
      fetch<Upwards>(feed);
      work(slot, stage);
      stage = next_stage(stage);
      slot = next_slot<Upwards>(slot);
    }
    copy_wait<0>();
    block_barrier();
  }

  __device__ __forceinline__ void take_tile(Tile& c, int slot) const {
    const float4* tile = tile_in(slot) + unit_at(lane % 4 * 2, lane / 4);
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
    const int column = warp_column + lane / 4 * 4;
    return {factor + static_cast<std::int64_t>(row) * task.n + column,
            (column < task.end ? task.n : 0) - row};
  }
  /// Stores a tile and moves the target `chunk_step` chunks.
  __device__ __forceinline__ void store_tile(const Tile& c, Target& target, int chunk_step) const {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const bool inside = target.rows > below(k);
      float* at = target.at + static_cast<std::int64_t>(task.n) * below(k);
      if constexpr (Vector) {
        const float4 four = {c[4 * k], c[4 * k + 1], c[4 * k + 2], c[4 * k + 3]};
        if (inside) *reinterpret_cast<float4*>(at) = four;
      } else {
        const int columns = task.end - warp_column - lane / 4 * 4;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (inside && j < columns) at[j] = c[4 * k + j];
        }
      }
    }
    target.at += static_cast<std::int64_t>(task.n) * (chunk_step * k_chunk_rows);
    target.rows -= chunk_step * k_chunk_rows;
  }

  /// A lane's place, within a stage, of the reflectors of this warp's tile.
  __device__ __forceinline__ const std::uint16_t* stage_row(int stage, int place) const {
    return &shared.ring[0][row_group * k_tile_rows][place] + stage * (k_chunk_rows * Math::k_pitch);
  }

  /// T as BF16 pairs; what lies below its diagonal blocks is never read.
  __device__ __forceinline__ void fetch_factor() const {
#pragma unroll 4
    for (int k = warp * 32 + lane; k < K * K / 4; k += k_apply_threads) {
      const int row = k / (K / 4), column = k % (K / 4) * 4;
      const float4 four = *reinterpret_cast<const float4*>(&block[row * k_block + column]);
      const BfPair left = split(four.x, four.y), right = split(four.z, four.w);
      *reinterpret_cast<uint2*>(&shared.factor[0][row][column]) = {left.high, right.high};
      *reinterpret_cast<uint2*>(&shared.factor[1][row][column]) = {left.low, right.low};
    }
  }

  /// Pass 1: product = `lift` C^T V over this warp's rows; all bits of the magnitudes of C it saw.
  __device__ __forceinline__ unsigned project(Product& product, float lift) const {
    unsigned seen = 0;
    const int place = Math::project_place(lane);
    for_each_chunk<true>([&](int slot, int stage) {
      Tile c;
      take_tile(c, slot);
#pragma unroll
      for (int k = 0; k < 16; ++k) seen |= __float_as_uint(c[k]);
      if (lift != 1) {
#pragma unroll
        for (int k = 0; k < 16; ++k) c[k] *= lift;
      }
      Math::project(product, c, stage_row(stage, place));
    });
    return magnitude(__uint_as_float(seen));
  }

  /// Pass 2: C += `1 / lift` (weights V^T).
  __device__ __forceinline__ void update(const Operand& weights, float lift) const {
    const int place = Math::update_place(lane);
    Target target = target_of(chunks - 1);
    for_each_chunk<false>([&](int slot, int stage) {
      Tile c;
      take_tile(c, slot);
      if (lift != 1) {
#pragma unroll
        for (int k = 0; k < 16; ++k) c[k] *= lift;
      }
      Math::update(c, weights, stage_row(stage, place));
      if (lift != 1) {
#pragma unroll
        for (int k = 0; k < 16; ++k) c[k] *= 1 / lift;
      }
      store_tile(c, target, -1);
    });
  }

  /// A strip of zeros stays one; it only has to reach the factor.
  __device__ __forceinline__ void store_zeros() const {
    const Tile zeros = {};
    Target target = target_of(0);
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk) store_tile(zeros, target, 1);
  }

  __device__ __forceinline__ void strip_barrier() const {
    if (task.ranks > 1) {
      cluster_barrier();
    } else {
      block_barrier();
    }
  }

  /// The largest of what the warps of the strip bring, the same in all its threads. Of joined bits
  /// it is 0, or below k_small_bits, exactly when all of them are.
  __device__ __forceinline__ unsigned strip_largest(unsigned own) const {
    static_assert(k_apply_warps * k_max_ranks <= 32);
    own = __reduce_max_sync(k_full_warp, own);
    if (lane == 0) shared.largest[warp] = own;
    strip_barrier();
    const unsigned* at = &shared.largest[lane % k_apply_warps];
    const int other = lane / k_apply_warps;
    unsigned bits = 0;
    if (task.ranks == 1) {
      bits = *at;
    } else if (other < task.ranks) {
      bits = __float_as_uint(load_twin(reinterpret_cast<const float*>(at), other));
    }
    return __reduce_max_sync(k_full_warp, bits);
  }

  /// This warp's part of the product, or that of another which shares its columns: [K][32].
  __device__ __forceinline__ float* part_of(int of_row_group) const {
    return parts + (of_row_group * CG + column_group) * K * 32 + lane;
  }

  /// Sums the parts of this block's warps into the first of them, a slice of the K values each.
  __device__ __forceinline__ void add_warps() const {
    block_barrier();
#pragma unroll 4
    for (int k = row_group * (K / RG); k < (row_group + 1) * (K / RG); ++k) {
      float sum = 0;
#pragma unroll
      for (int other = 0; other < RG; ++other) sum += part_of(other)[k * 32];
      part_of(0)[k * 32] = sum;  // nobody else reads these
    }
  }

  /// Sums what the blocks have there, and hands every one of them the sum. Each warp takes a slice
  /// of the K values, four at a time; past its end it repeats the last of them.
  __device__ __forceinline__ void add_blocks() const {
    constexpr int together = 4;
    cluster_barrier();
    const int sharers = RG * task.ranks, slice = (K + sharers - 1) / sharers;
    const int first = (rank * RG + row_group) * slice;
    const int last = first + slice < K ? first + slice : K;
#pragma unroll 1
    for (int k = first; k < last; k += together) {
      float* at[together];
      float sum[together] = {};
#pragma unroll
      for (int j = 0; j < together; ++j)
        at[j] = part_of(0) + (k + j < last ? k + j : last - 1) * 32;
#pragma unroll 2
      for (int other = 0; other < task.ranks; ++other) {
#pragma unroll
        for (int j = 0; j < together; ++j) sum[j] += load_twin(at[j], other);
      }
#pragma unroll 1
      for (int other = 0; other < task.ranks; ++other) {
#pragma unroll
        for (int j = 0; j < together; ++j) store_twin(at[j], other, sum[j]);
      }
    }
    cluster_barrier();
  }

  /// Sums `product` over the warps and blocks that share these columns, in a fixed order.
  __device__ __forceinline__ void add_parts(Product& product) const {
    if (RG * task.ranks == 1) return;
#pragma unroll
    for (int k = 0; k < K; ++k) part_of(row_group)[k * 32] = Math::value(product, k);
    if constexpr (RG > 1) add_warps();
    if (task.ranks > 1) {
      add_blocks();
    } else {
      block_barrier();
    }
#pragma unroll
    for (int k = 0; k < K; ++k) Math::value(product, k) = part_of(0)[k * 32];
    block_barrier();  // T and the ring lie over the parts
  }

  __device__ __forceinline__ void run() const {
    Product product;
    float lift = 1;
    unsigned largest;
#pragma unroll 1
    for (;;) {
#pragma unroll
      for (int k = 0; k < K; ++k) Math::value(product, k) = 0;
      largest = strip_largest(project(product, lift));
      if (largest == 0 || largest >= k_small_bits || lift != 1) break;
      lift = k_lift;
      strip_barrier();  // `largest` is read no more
    }
    if (largest == 0) {
      if (task.source != task.factor) store_zeros();
    } else {
      add_parts(product);
      Operand operand;
      fetch_factor();
      Math::as_operand(operand, product, 1);
      block_barrier();
      Product weighted = {};
      Math::weigh(weighted, operand, shared.factor, lane);
      block_barrier();  // the ring lies over T
      Math::as_operand(operand, weighted, -1);
      update(operand, lift);
    }
    if (task.ranks > 1) cluster_barrier();  // no block leaves while another may read its memory
  }
};

/// One strip, by the block of number `rank` of those that share it.
template <int K, int CG, int RG, bool Vector>
__device__ __forceinline__ void apply_strip(const ApplyTask& task, std::int64_t matrix, int strip,
                                            int rank) {
  static_assert(sizeof(ApplyShared<K, RG>) % 16 == 0, "the slots that follow it");
  auto& shared = shared_as<ApplyShared<K, RG>>();
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  const std::int64_t n = task.n;
  constexpr int chunk_rows = RG * k_tile_rows;
  const int all_chunks = (task.n - task.row + chunk_rows - 1) / chunk_rows;
  const int per_rank = (all_chunks + task.ranks - 1) / task.ranks;
  const int first_chunk = rank * per_rank;
  const int left = all_chunks - first_chunk;
  const int fixed = apply_fixed_bytes<K, RG>(RG * task.ranks > 1);
  const int column_group = warp % CG;
  const int warp_column = task.begin + (strip * CG + column_group) * k_warp_columns;
  const Applier<K, CG, RG, Vector> applier{
      task,
      shared,
      reinterpret_cast<float*>(&shared.ring),
      reinterpret_cast<float4*>(reinterpret_cast<unsigned char*>(&shared) + fixed),
      thread % 32,
      warp,
      column_group,
      warp / CG,
      rank,
      first_chunk,
      left < 0          ? 0
      : left < per_rank ? left
                        : per_rank,
      warp_column,
      task.source + matrix * n * n,
      task.factor + matrix * n * n,
      task.reflectors + matrix * reflector_elements(n),
      task.block + matrix * k_factor_elements};
  applier.run();
}

/// Grid: batch x strips x ranks blocks, the ranks of a strip forming a cluster.
template <int K, int CG, int RG, bool Vector>
__global__ void __launch_bounds__(k_apply_threads, 3) apply_block(const ApplyTask task) {
  const std::int64_t strip = static_cast<std::int64_t>(blockIdx.x) / task.ranks;
  const std::int64_t matrix = strip / task.strips;
  if (!is_left_over(task.doubtful, matrix)) return;
  apply_strip<K, CG, RG, Vector>(task, matrix, static_cast<int>(strip % task.strips),
                                 static_cast<int>(blockIdx.x % task.ranks));
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_APPLY_CUH
