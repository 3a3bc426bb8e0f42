// Applies a block reflector to the columns that follow it: C <- C - V T^T (V^T C), in place or
// from the input matrix to the factor.
//
// A warp owns 32 columns and keeps the transposed products in registers: the accumulators of
// (V^T C)^T have the layout in which the next product takes its left operand, so nothing but the
// reflectors and T passes through shared memory. C is read twice and written once; the second
// pass walks backwards, through the rows that are still in shared memory or in the L2 cache.
// Every FP32 product is three BF16 products (high high, high low, low high), summed in FP32.
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
constexpr int k_stages = 3;

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
  int strips;    // of CG * 32 columns
  int ranks;     // blocks that share the rows of a strip
  int resident;  // chunks of C kept in shared memory between the passes
};

/// Shared memory of one block; `parts` only where RG * ranks > 1, then the resident tiles.
template <int K, int RG>
struct ApplyShared {
  std::uint16_t ring[k_stages][RG * k_tile_rows][padded(2 * K)];  // high parts, then low
  std::uint16_t factor[2][K][padded(K)];
  unsigned largest[k_apply_warps];
};
template <int K>
constexpr int k_part_bytes = k_apply_warps* K * 32 * 4;
constexpr int k_chunk_bytes = k_apply_warps * 32 * 16 * 4;

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
  float4* cache;  // [chunk][warp][4][lane]
  int lane, warp, column_group, row_group, rank;
  int first_chunk, chunks;  // of this block
  int column;               // of this lane's first column
  const float* source;
  float* factor;
  const std::uint16_t* reflectors;

  __device__ __forceinline__ int row_of(int chunk, int k) const {
    return task.row + (first_chunk + chunk) * k_chunk_rows + row_group * k_tile_rows +
           lane % 4 * 2 + k % 2 + k / 2 * 8;
  }

  __device__ __forceinline__ void load_tile(Tile& c, int chunk) const {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int row = row_of(chunk, k);
      const float* from = source + static_cast<std::int64_t>(row) * task.n + column;
      if constexpr (Vector) {
        float4 four = {0, 0, 0, 0};
        if (row < task.n && column < task.end) four = *reinterpret_cast<const float4*>(from);
        c[4 * k] = four.x, c[4 * k + 1] = four.y, c[4 * k + 2] = four.z, c[4 * k + 3] = four.w;
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          c[4 * k + j] = row < task.n && column + j < task.end ? from[j] : 0;
        }
      }
    }
  }

  __device__ __forceinline__ void store_tile(const Tile& c, int chunk) const {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int row = row_of(chunk, k);
      float* to = factor + static_cast<std::int64_t>(row) * task.n + column;
      if constexpr (Vector) {
        const float4 four = {c[4 * k], c[4 * k + 1], c[4 * k + 2], c[4 * k + 3]};
        if (row < task.n && column < task.end) *reinterpret_cast<float4*>(to) = four;
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (row < task.n && column + j < task.end) to[j] = c[4 * k + j];
        }
      }
    }
  }

  __device__ __forceinline__ bool is_cached(int chunk) const {
    return chunk >= chunks - task.resident;
  }
  __device__ __forceinline__ float4* cached(int chunk) const {
    return cache + ((chunk - (chunks - task.resident)) * k_apply_warps + warp) * 4 * 32 + lane;
  }
  __device__ __forceinline__ void keep_tile(const Tile& c, int chunk) const {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      cached(chunk)[k * 32] = {c[4 * k], c[4 * k + 1], c[4 * k + 2], c[4 * k + 3]};
    }
  }
  __device__ __forceinline__ void recall_tile(Tile& c, int chunk) const {
    if (!is_cached(chunk)) return load_tile(c, chunk);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float4 four = cached(chunk)[k * 32];
      c[4 * k] = four.x, c[4 * k + 1] = four.y, c[4 * k + 2] = four.z, c[4 * k + 3] = four.w;
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

  /// Calls work(chunk, stage) for every chunk, upwards or downwards, its reflectors in the stage.
  template <class Work>
  __device__ __forceinline__ void for_each_chunk(bool upwards, const Work& work) const {
    const auto at = [&](int step) { return upwards ? step : chunks - 1 - step; };
#pragma unroll
    for (int step = 0; step < k_stages - 1; ++step) {
      if (step < chunks) fetch_reflectors(at(step), step);
      copy_commit();
    }
    int stage = 0;
    for (int step = 0; step < chunks; ++step) {
      copy_wait<k_stages - 2>();
      block_barrier();  // the stage has arrived, and the one before it is no longer read
      const int ahead = step + k_stages - 1;
      if (ahead < chunks) fetch_reflectors(at(ahead), (stage + k_stages - 1) % k_stages);
      copy_commit();
      work(step, at(step), stage);
      stage = (stage + 1) % k_stages;
    }
    copy_wait<0>();
    block_barrier();
  }

  /// T as BF16 pairs; what lies below its diagonal blocks is never read.
  __device__ __forceinline__ void fetch_factor(std::int64_t matrix) const {
    const float* block = task.block + matrix * k_factor_elements;
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
    Tile next;
    load_tile(next, 0);
    for_each_chunk(true, [&](int, int chunk, int stage) {
      Tile c;
#pragma unroll
      for (int k = 0; k < 16; ++k) c[k] = next[k];
      if (chunk + 1 < chunks) load_tile(next, chunk + 1);
      if (is_cached(chunk)) keep_tile(c, chunk);
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
    Tile next;
    if (chunks > 0) recall_tile(next, chunks - 1);
    for_each_chunk(false, [&](int, int chunk, int stage) {
      Tile c;
#pragma unroll
      for (int k = 0; k < 16; ++k) c[k] = next[k];
      if (chunk > 0) recall_tile(next, chunk - 1);
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
    const int slice = K / sharers, first = (rank * RG + row_group) * slice;
    for (int k = first; k < first + slice; ++k) {
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
    strip_barrier();  // a repeated pass writes the parts again
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
    }
    if (largest == 0) {
      if (task.source != task.factor) store_zeros();
    } else {
      add_parts(product);
      Operand operand;
      Math::as_operand(operand, product, 1);
      Product weighted = {};
      Math::weigh(weighted, operand, shared.factor, lane);
      Math::as_operand(operand, weighted, -1);
      update(operand, lift);
    }
    if (task.ranks > 1) cluster_barrier();  // no block leaves while another may read its memory
  }
};

/// Grid: batch x strips x ranks blocks, the ranks of a strip forming a cluster.
template <int K, int CG, int RG, bool Vector>
__global__ void __launch_bounds__(k_apply_threads, 3) apply_block(const ApplyTask task) {
  static_assert(sizeof(ApplyShared<K, RG>) % 16 == 0, "the parts and the tiles that follow it");
  auto& shared = shared_as<ApplyShared<K, RG>>();
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  const std::int64_t strip = static_cast<std::int64_t>(blockIdx.x) / task.ranks;
  const std::int64_t matrix = strip / task.strips;
  if (!is_left_over(task.doubtful, matrix)) return;
  const int rank = static_cast<int>(blockIdx.x % task.ranks);
  const std::int64_t n = task.n;
  constexpr int chunk_rows = RG * k_tile_rows;
  const int all_chunks = (task.n - task.row + chunk_rows - 1) / chunk_rows;
  const int per_rank = (all_chunks + task.ranks - 1) / task.ranks;
  const int first_chunk = rank * per_rank;
  const int left = all_chunks - first_chunk;
  auto* parts = reinterpret_cast<float*>(&shared + 1);
  const bool has_parts = RG * task.ranks > 1;
  const int column_group = warp % CG;
  const Applier<K, CG, RG, Vector> applier{
      task,
      shared,
      parts,
      reinterpret_cast<float4*>(parts + (has_parts ? k_part_bytes<K> / 4 : 0)),
      thread % 32,
      warp,
      column_group,
      warp / CG,
      rank,
      first_chunk,
      left < 0          ? 0
      : left < per_rank ? left
                        : per_rank,
      task.begin + (static_cast<int>(strip % task.strips) * CG + column_group) * k_warp_columns +
          thread % 32 / 4 * 4,
      task.source + matrix * n * n,
      task.factor + matrix * n * n,
      task.reflectors + matrix * reflector_elements(n)};
  applier.fetch_factor(matrix);
  applier.run();
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_APPLY_CUH
