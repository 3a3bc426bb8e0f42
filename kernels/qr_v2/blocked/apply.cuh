// Applies a block reflector to the columns that follow it: C <- C - V T^T (V^T C), in place or
// from the input matrix to the factor; or two of them, one after the other, as one.
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

#include "apply_chunks.cuh"
#include "team.cuh"

namespace blocked {

/// A strip whose magnitudes are all below 2^-63 is multiplied by k_lift before the split: the low
/// BF16 parts of the smallest numbers would be subnormal. The bound is a bit of the exponent, so
/// that the magnitudes' bits can be joined by OR instead of compared.
constexpr float k_lift = 0x1p90f;
constexpr unsigned k_small_bits = (127u - 63u) << 23;
static_assert((k_small_bits & (k_small_bits - 1)) == 0);

/// All threads of the blocks that share a strip.
__device__ __forceinline__ void strip_barrier(const ApplyTask& task) {
  if (task.ranks > 1) {
    cluster_barrier();
  } else {
    block_barrier();
  }
}

template <int K, int CG, int RG, bool Vector, bool Ahead>
struct Applier {
  using Chunks = ApplyChunks<K, CG, RG, Vector, Ahead>;
  using Math = Products<K>;
  using Product = typename Math::Product;
  using Operand = typename Math::Operand;
  using Feed = typename Chunks::Feed;
  static constexpr int k_warps = Chunks::k_warps;

  const ApplyTask& task;
  ApplyShared<K, CG, RG, Ahead>& shared;
  const Chunks& chunks;
  float* parts;  // [warp][K][32], also read by the other blocks of the cluster
  int lane, warp, column_group, row_group, rank;
  std::int64_t matrix;

  /// T, of a pair all three of Products::k_factors, as BF16 pairs; what lies below the diagonal
  /// blocks of a T is never read.
  __device__ __forceinline__ void fetch_factors() const {
    constexpr int width = Math::k_width, units = width * width / 4;
#pragma unroll
    for (int which = 0; which < Math::k_factors; ++which) {
      const float* from = (which == 0   ? task.block
                           : which == 1 ? task.cross
                                        : task.second_block) +
                          matrix * k_factor_elements;
      auto& factor = shared.factors[which];
#pragma unroll 4
      for (int k = warp * 32 + lane; k < units; k += Chunks::k_threads) {
        const int row = k / (width / 4), column = k % (width / 4) * 4;
        const float4 four = *reinterpret_cast<const float4*>(&from[row * k_block + column]);
        const BfPair left = split(four.x, four.y), right = split(four.z, four.w);
        *reinterpret_cast<uint2*>(&factor[0][row][column]) = {left.high, right.high};
        *reinterpret_cast<uint2*>(&factor[1][row][column]) = {left.low, right.low};
      }
    }
  }

  /// Pass 1, started: product = `lift` C^T V over this warp's rows; all bits of the magnitudes of C
  /// it saw.
  __device__ __forceinline__ unsigned project(const Feed& feed, Product& product,
                                              float lift) const {
    unsigned seen = 0;
    const auto add = [&](const float4* tile, const std::uint16_t* row, const auto& fetch) {
      Tile c;
      Chunks::take_tile(c, tile);
#pragma unroll
      for (int k = 0; k < 16; ++k) seen |= __float_as_uint(c[k]);
      if (lift != 1) {
#pragma unroll
        for (int k = 0; k < 16; ++k) c[k] *= lift;
      }
      Math::project(product, c, row, fetch);
    };
    chunks.template for_each<true>(feed, Math::project_place(lane), add);
    return magnitude(__uint_as_float(seen));
  }

  /// Pass 2, started: C += `down` (weights V^T).
  __device__ __forceinline__ void update(const Feed& feed, const Operand& weights,
                                         float down) const {
    auto target = chunks.target_of(chunks.count - 1);
    const auto add = [&](const float4* tile, const std::uint16_t* row, const auto& fetch) {
      Tile c;
      Chunks::take_tile(c, tile);
      Math::update(c, weights, down, row, fetch);
      chunks.store_tile(c, target, -1);
    };
    chunks.template for_each<false>(feed, Math::update_place(lane), add);
  }

  /// A strip of zeros stays one; it only has to reach the factor.
  __device__ __forceinline__ void store_zeros() const {
    const Tile zeros = {};
    auto target = chunks.target_of(0);
#pragma unroll 1
    for (int chunk = 0; chunk < chunks.count; ++chunk) chunks.store_tile(zeros, target, 1);
  }

  /// What the warps of a strip bring, for largest_noted() behind the strip's next barrier.
  __device__ __forceinline__ void note_largest(unsigned own) const {
    own = __reduce_max_sync(k_full_warp, own);
    if (lane == 0) shared.largest[warp] = own;
  }
  /// The largest of it, the same in all threads of the strip. Of joined bits it is 0, or below
  /// k_small_bits, exactly when all of them are.
  __device__ __forceinline__ unsigned largest_noted() const {
    unsigned bits = 0;
#pragma unroll
    for (int k = lane; k < k_warps * k_max_ranks; k += 32) {
      const unsigned* at = &shared.largest[k % k_warps];
      const int other = k / k_warps;
      if (other >= task.ranks) break;
      const unsigned seen =
          task.ranks == 1 ? *at
                          : __float_as_uint(load_twin(reinterpret_cast<const float*>(at), other));
      bits = seen > bits ? seen : bits;
    }
    return __reduce_max_sync(k_full_warp, bits);
  }

  /// This warp's part of the product, or that of another which shares its columns: [K][32].
  __device__ __forceinline__ float* part_of(int of_row_group) const {
    return parts + (of_row_group * CG + column_group) * K * 32 + lane;
  }

  static constexpr int k_together = 4;  // values summed beside each other, to hide the latency

  /// Sums the parts of this block's warps into the first of them, a slice of the K values each.
  __device__ __forceinline__ void add_warps() const {
    constexpr int slice = K / RG;
    static_assert(slice % k_together == 0);
    block_barrier();
#pragma unroll 1
    for (int k = row_group * slice; k < (row_group + 1) * slice; k += k_together) {
      float sum[k_together] = {};
#pragma unroll
      for (int other = 0; other < RG; ++other) {
#pragma unroll
        for (int j = 0; j < k_together; ++j) sum[j] += part_of(other)[(k + j) * 32];
      }
#pragma unroll
      for (int j = 0; j < k_together; ++j) part_of(0)[(k + j) * 32] = sum[j];  // read by none else
    }
  }

  /// Sums what the blocks have there, behind a barrier, and hands every one of them the sum. Each
  /// warp takes a slice of the K values, four at a time; past its end it repeats the last of them.
  __device__ __forceinline__ void add_blocks() const {
    const int sharers = RG * task.ranks, slice = (K + sharers - 1) / sharers;
    const int first = (rank * RG + row_group) * slice;
    const int last = first + slice < K ? first + slice : K;
#pragma unroll 1
    for (int k = first; k < last; k += k_together) {
      float* at[k_together];
      float sum[k_together] = {};
#pragma unroll
      for (int j = 0; j < k_together; ++j) {
        at[j] = part_of(0) + (k + j < last ? k + j : last - 1) * 32;
      }
      if constexpr (Ahead) {  // registers for all loads at once
        float part[k_max_ranks][k_together];
#pragma unroll
        for (int other = 0; other < k_max_ranks; ++other) {
#pragma unroll
          for (int j = 0; j < k_together; ++j) {
            part[other][j] = other < task.ranks ? load_twin(at[j], other) : 0;
          }
        }
#pragma unroll
        for (int other = 0; other < k_max_ranks; ++other) {
#pragma unroll
          for (int j = 0; j < k_together; ++j) sum[j] += part[other][j];
        }
      } else {
#pragma unroll 2
        for (int other = 0; other < task.ranks; ++other) {
#pragma unroll
          for (int j = 0; j < k_together; ++j) sum[j] += load_twin(at[j], other);
        }
      }
#pragma unroll 1
      for (int other = 0; other < task.ranks; ++other) {
#pragma unroll
        for (int j = 0; j < k_together; ++j) store_twin(at[j], other, sum[j]);
      }
    }
    cluster_barrier();
  }

  /// This warp's part of the product, summed over the block's warps in a fixed order.
  __device__ __forceinline__ void put_parts(Product& product) const {
#pragma unroll
    for (int k = 0; k < K; ++k) part_of(row_group)[k * 32] = Math::value(product, k);
    if constexpr (RG > 1) add_warps();
  }
  /// The product of all warps and blocks that share these columns. All have put their parts.
  __device__ __forceinline__ void take_parts(Product& product) const {
    if (task.ranks > 1) add_blocks();
#pragma unroll
    for (int k = 0; k < K; ++k) Math::value(product, k) = part_of(0)[k * 32];
    block_barrier();  // T and the ring lie over the parts
  }

  /// Pass 1 and its sum; the largest magnitude of the strip, as largest_noted() has it. In the
  /// strip ahead one barrier serves both; else a strip that is to be lifted needs no sum.
  __device__ __forceinline__ unsigned project_all(Product& product, float lift) const {
    const Feed feed = chunks.template start<true>();
    if (Ahead && lift == 1) fetch_factors();  // beside the first copies
#pragma unroll
    for (int k = 0; k < K; ++k) Math::value(product, k) = 0;
    note_largest(project(feed, product, lift));
    if constexpr (Ahead) put_parts(product);
    strip_barrier(task);
    return largest_noted();
  }

  __device__ __forceinline__ void run() const {
    Product product;
    float lift = 1;
    unsigned largest;
#pragma unroll 1
    for (;;) {
      largest = project_all(product, lift);
      if (largest == 0 || largest >= k_small_bits || lift != 1) break;
      lift = k_lift;
      strip_barrier(task);  // `largest` is read no more
    }
    if (largest == 0) {
      if (task.source != task.factor) store_zeros();
    } else {
      if (!Ahead && RG * task.ranks > 1) {
        put_parts(product);
        strip_barrier(task);
      }
      if (RG * task.ranks > 1) take_parts(product);
      Feed feed;
      if constexpr (Ahead) {
        feed = chunks.template start<false>();
      } else {
        fetch_factors();
      }
      if constexpr (!Ahead) block_barrier();
      typename Math::Factor factors[Math::k_factors];
#pragma unroll
      for (int which = 0; which < Math::k_factors; ++which) factors[which] = shared.factors[which];
      Operand weights;
      Math::find_weights(weights, product, factors, lane);
      if constexpr (!Ahead) {
        block_barrier();  // the ring lies over T
        feed = chunks.template start<false>();
      }
      update(feed, weights, 1 / lift);
    }
    // No block leaves while another may read its memory: behind add_blocks() none does.
    if (task.ranks > 1 && largest == 0) cluster_barrier();
  }
};

/// One strip, by the block of number `rank` of those that share it.
template <int K, int CG, int RG, bool Vector, bool Ahead>
__device__ __forceinline__ void apply_strip(const ApplyTask& task, std::int64_t matrix, int strip,
                                            int rank) {
  static_assert(sizeof(ApplyShared<K, CG, RG, Ahead>) % 16 == 0, "the slots that follow it");
  auto& shared = shared_as<ApplyShared<K, CG, RG, Ahead>>();
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  const std::int64_t n = task.n;
  constexpr int chunk_rows = RG * k_tile_rows;
  const int all_chunks = (task.n - task.row + chunk_rows - 1) / chunk_rows;
  const int per_rank = (all_chunks + task.ranks - 1) / task.ranks;
  const int first_chunk = rank * per_rank;
  const int left = all_chunks - first_chunk;
  const int fixed = apply_fixed_bytes<K, CG, RG, Ahead>(RG * task.ranks > 1);
  const ApplyChunks<K, CG, RG, Vector, Ahead> chunks{
      task,
      shared,
      reinterpret_cast<float4*>(reinterpret_cast<unsigned char*>(&shared) + fixed),
      thread % 32,
      warp,
      warp / CG,
      first_chunk,
      left < 0          ? 0
      : left < per_rank ? left
                        : per_rank,
      task.begin + (strip * CG + warp % CG) * k_warp_columns,
      task.source + matrix * n * n,
      task.factor + matrix * n * n,
      task.reflectors + matrix * reflector_elements(n),
      K > k_block ? task.second_reflectors + matrix * reflector_elements(n) : nullptr};
  const Applier<K, CG, RG, Vector, Ahead> applier{
      task,        shared, chunks,    reinterpret_cast<float*>(&shared.ring),
      thread % 32, warp,   warp % CG, warp / CG,
      rank,        matrix};
  applier.run();
}

/// Blocks that a multiprocessor has registers for. A warp of a pair keeps twice as many products.
template <int K, int RG, bool Ahead>
constexpr int k_residents = Ahead         ? 8 / RG
                            : K > k_block ? 2
                                          : 3;

/// Grid: batch x strips x ranks blocks, the ranks of a strip forming a cluster.
template <int K, int CG, int RG, bool Vector, bool Ahead>
__global__ void __launch_bounds__(CG* RG * 32, k_residents<K, RG, Ahead>)
    apply_block(const ApplyTask task) {
  const std::int64_t strip = static_cast<std::int64_t>(blockIdx.x) / task.ranks;
  const std::int64_t matrix = strip / task.strips;
  if (task.doubtful != nullptr && is_left_over(task.doubtful, matrix) == task.settled) return;
  apply_strip<K, CG, RG, Vector, Ahead>(task, matrix, static_cast<int>(strip % task.strips),
                                        static_cast<int>(blockIdx.x % task.ranks));
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_APPLY_CUH
