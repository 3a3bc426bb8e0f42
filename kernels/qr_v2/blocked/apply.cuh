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
/// Chunks under way or in use at once; at least as many slots hold chunks of C.
template <int RG>
constexpr int k_stages = RG == 1 ? 5 : 3;

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
  int slots;   // chunks of C that shared memory holds, at least k_stages
};

/// Shared memory of one block, before the slots of C. Between the passes T, and before it the parts
/// of the product, lie over the ring.
template <int K, int RG>
struct ApplyShared {
  alignas(16) unsigned largest[k_apply_warps];
  union {
    std::uint16_t ring[k_stages<RG>][RG * k_tile_rows][padded(2 * K)];  // high parts, then low
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

/// A strip whose largest magnitude is below 2^-90 is multiplied by k_lift before the split: the low
/// BF16 parts of the smallest numbers would be subnormal.
constexpr float k_lift = 0x1p90f;
constexpr unsigned k_small_bits = (127u - 90u) << 23;

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
  __device__ __forceinline__ int first_row(int chunk) const {
    return task.row + (first_chunk + chunk) * k_chunk_rows + row_group * k_tile_rows + lane % 4 * 2;
  }
  /// This warp's tile of a chunk: 16 rows of 8 float4, swizzled.
  __device__ __forceinline__ float4* slot_of(int chunk) const {
    return cache + (chunk % task.slots * k_apply_warps + warp) * k_tile_rows * 8;
  }
  /// Where four neighbouring columns of a row lie. A quarter of a warp that takes its part of a
  /// tile reads two neighbouring units of four rows that are two apart, and no bank twice.
  __device__ __forceinline__ static constexpr int unit_at(int row, int unit) {
    return row * 8 + (unit ^ (row & 6));
  }

  /// Starts the copy of this warp's tile of C into the chunk's slot. Eight lanes copy a whole row
  /// of 128 bytes, in order: scattered among the lanes of a tile, a copy fetches every sector
  /// twice.
  __device__ __forceinline__ void fetch_tile(int chunk) const {
    const int unit = lane % 8;
    const int first =
        task.row + (first_chunk + chunk) * k_chunk_rows + row_group * k_tile_rows + lane / 8;
    const int left = task.end - warp_column - unit * 4;
    const float* from = source + static_cast<std::int64_t>(first) * task.n + warp_column + unit * 4;
    float4* slot = slot_of(chunk);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const bool inside = first + 4 * k < task.n;
      const float* at = from + static_cast<std::int64_t>(4 * k) * task.n;
      float4* to = slot + unit_at(lane / 8 + 4 * k, unit);
      if constexpr (Vector) {
        const bool valid = inside && left > 0;
        copy_async(to, valid ? at : source, valid);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const bool valid = inside && j < left;
          copy_async_word(reinterpret_cast<float*>(to) + j, valid ? at + j : source, valid);
        }
      }
    }
  }

  __device__ __forceinline__ void take_tile(Tile& c, int chunk) const {
    const float4* slot = slot_of(chunk);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float4 four = slot[unit_at(lane % 4 * 2 + below(k), lane / 4)];
      c[4 * k] = four.x, c[4 * k + 1] = four.y, c[4 * k + 2] = four.z, c[4 * k + 3] = four.w;
    }
  }

  __device__ __forceinline__ void store_tile(const Tile& c, int chunk) const {
    const int row = first_row(chunk), column = warp_column + lane / 4 * 4;
    float* to = factor + static_cast<std::int64_t>(row) * task.n + column;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const bool inside = row + below(k) < task.n;
      float* at = to + static_cast<std::int64_t>(below(k)) * task.n;
      if constexpr (Vector) {
        const float4 four = {c[4 * k], c[4 * k + 1], c[4 * k + 2], c[4 * k + 3]};
        if (inside && column < task.end) *reinterpret_cast<float4*>(at) = four;
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (inside && column + j < task.end) at[j] = c[4 * k + j];
        }
      }
    }
  }

  /// The 16 rows of reflectors of this warp's tile.
  __device__ __forceinline__ const std::uint16_t (*stage_rows(int stage) const)[padded(2 * K)] {
    return &shared.ring[stage][row_group * k_tile_rows];
  }

  /// Starts the copy of a chunk's reflectors; rows below the matrix become zero.
  __device__ __forceinline__ void fetch_reflectors(int chunk, int stage) const {
    constexpr int units = K / 8;  // of 16 bytes, per row and part
    const int first = task.row + (first_chunk + chunk) * k_chunk_rows;
    for (int k = warp * 32 + lane; k < k_chunk_rows * 2 * units; k += k_apply_threads) {
      const int unit = k % units, part = k / units % 2, line = k / (2 * units);
      const bool inside = first + line < task.n;
      const std::uint16_t* from =
          reflectors +
          static_cast<std::int64_t>(inside ? first + line : task.row) * k_reflector_pitch +
          part * k_block + unit * 8;
      copy_async(&shared.ring[stage][line][part * K + unit * 8], from, inside);
    }
  }

  /// Starts what step `step` of a pass needs. In the second pass the first chunks are in their
  /// slots from the first.
  __device__ __forceinline__ void fetch(bool upwards, int step, int stage) const {
    if (step < chunks) {
      const int chunk = upwards ? step : chunks - 1 - step;
      fetch_reflectors(chunk, stage);
      if (upwards || step >= task.slots) fetch_tile(chunk);
    }
    copy_commit();
  }

  /// Calls work(chunk, stage) for every chunk, upwards or downwards, its reflectors in the stage
  /// and its elements of C in their slot.
  template <class Work>
  __device__ __forceinline__ void for_each_chunk(bool upwards, const Work& work) const {
    constexpr int stages = k_stages<RG>;
#pragma unroll
    for (int step = 0; step < stages - 1; ++step) fetch(upwards, step, step);
    int stage = 0;
    for (int step = 0; step < chunks; ++step) {
      copy_wait<stages - 2>();
      block_barrier();  // the stage has arrived, and the one before it is no longer read
      fetch(upwards, step + stages - 1, stage == 0 ? stages - 1 : stage - 1);
      work(upwards ? step : chunks - 1 - step, stage);
      stage = stage + 1 == stages ? 0 : stage + 1;
    }
    copy_wait<0>();
    block_barrier();
  }

  /// T as BF16 pairs; what lies below its diagonal blocks is never read.
  __device__ __forceinline__ void fetch_factor() const {
    for (int k = warp * 32 + lane; k < K * K / 2; k += k_apply_threads) {
      const int row = k / (K / 2), two = k % (K / 2) * 2;
      const BfPair pair = split(block[row * k_block + two], block[row * k_block + two + 1]);
      *reinterpret_cast<std::uint32_t*>(&shared.factor[0][row][two]) = pair.high;
      *reinterpret_cast<std::uint32_t*>(&shared.factor[1][row][two]) = pair.low;
    }
  }

  /// Pass 1: product = `lift` C^T V over this warp's rows; the largest magnitude of C it saw.
  __device__ __forceinline__ unsigned project(Product& product, float lift) const {
    unsigned largest = 0;
    for_each_chunk(true, [&](int chunk, int stage) {
      Tile c;
      take_tile(c, chunk);
#pragma unroll
      for (int k = 0; k < 16; ++k) {
        const unsigned own = magnitude(c[k]);
        largest = own > largest ? own : largest;
      }
      if (lift != 1) {
#pragma unroll
        for (int k = 0; k < 16; ++k) c[k] *= lift;
      }
      Math::project(product, c, stage_rows(stage), lane);
    });
    return largest;
  }

  /// Pass 2: C += `1 / lift` (weights V^T).
  __device__ __forceinline__ void update(const Operand& weights, float lift) const {
    for_each_chunk(false, [&](int chunk, int stage) {
      Tile c;
      take_tile(c, chunk);
      if (lift != 1) {
#pragma unroll
        for (int k = 0; k < 16; ++k) c[k] *= lift;
      }
      Math::update(c, weights, stage_rows(stage), lane);
      if (lift != 1) {
#pragma unroll
        for (int k = 0; k < 16; ++k) c[k] *= 1 / lift;
      }
      store_tile(c, chunk);
    });
  }

  /// A strip of zeros stays one; it only has to reach the factor.
  __device__ __forceinline__ void store_zeros() const {
    const Tile zeros = {};
    for (int chunk = 0; chunk < chunks; ++chunk) store_tile(zeros, chunk);
  }

  __device__ __forceinline__ void strip_barrier() const {
    if (task.ranks > 1) {
      cluster_barrier();
    } else {
      block_barrier();
    }
  }
  __device__ __forceinline__ float read_part(const float* at, int of_rank) const {
    return task.ranks > 1 ? load_twin(at, of_rank) : *at;
  }

  /// The largest magnitude of the whole strip, the same in all its threads.
  __device__ __forceinline__ unsigned strip_largest(unsigned own) const {
    own = __reduce_max_sync(k_full_warp, own);
    if (lane == 0) shared.largest[warp] = own;
    strip_barrier();
    unsigned largest = 0;
    for (int other = 0; other < task.ranks; ++other) {
      for (int k = 0; k < k_apply_warps; ++k) {
        const auto* at = reinterpret_cast<const float*>(&shared.largest[k]);
        const unsigned bits = __float_as_uint(read_part(at, other));
        largest = bits > largest ? bits : largest;
      }
    }
    return largest;
  }

  /// Sums `product` over the warps and blocks that share these columns: each of the P of them adds
  /// one slice of the K values of every lane, then all of them read all slices.
  __device__ __forceinline__ void add_parts(Product& product) const {
    const int sharers = RG * task.ranks;
    if (sharers == 1) return;
    float* own = parts + warp * K * 32 + lane;
#pragma unroll
    for (int k = 0; k < K; ++k) own[k * 32] = Math::value(product, k);
    strip_barrier();
    const int slice = (K + sharers - 1) / sharers, first = (rank * RG + row_group) * slice;
    const int last = first + slice < K ? first + slice : K;
    for (int k = first; k < last; ++k) {
      float sum = 0;
      for (int sharer = 0; sharer < sharers; ++sharer) {
        sum +=
            read_part(parts + ((sharer % RG * CG + column_group) * K + k) * 32 + lane, sharer / RG);
      }
      own[k * 32] = sum;  // nobody else reads this warp's part of its own slice
    }
    strip_barrier();
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int owner = k / slice;
      Math::value(product, k) =
          read_part(parts + ((owner % RG * CG + column_group) * K + k) * 32 + lane, owner / RG);
    }
    strip_barrier();  // T and the ring lie over the parts
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
