// The apply of apply.cuh to many columns on Hopper: C <- C - V T^T (V^T C) by one block of
// reflectors, or by two of them at once.
//
// A thread block has 256 columns (of a pair 192), 64 a warpgroup, and four warps more that feed it:
// rows of C and of V come by bulk copies into a ring of stages. All products are transposed, C^T V
// and (T^T W)^T V^T, so that the accumulators of one are the left operand of the next and stay in
// registers; V and T are read by the tensor cores from shared memory, in which they lie as in the
// workspace. C is read twice and written once, the second time backwards, what the L2 cache saw
// last first. Every FP32 product is three BF16 products (high high, high low, low high).
//
// The `ranks` blocks of a cluster share the rows of a strip and add their parts of V^T C in a fixed
// order. Needs n to be a multiple of 8, by which rows of C and groups of V are aligned.
#ifndef KBENCH_QR_BLOCKED_WIDE_APPLY_CUH
#define KBENCH_QR_BLOCKED_WIDE_APPLY_CUH

#include "apply.cuh"
#include "warpgroup.cuh"

namespace blocked {

constexpr int k_wide_rows = 32;  // of a chunk
constexpr int k_wide_most_ranks = 4;
constexpr int k_group_bytes = k_group_elements * 2;  // of eight rows of reflectors
constexpr int k_part_bytes = k_low_part * 2;

/// Sizes of a thread block: as many warpgroups, of k_block columns each, as have registers, and as
/// many stages as shared memory holds.
template <int K>
struct WideSizes {
  static constexpr int k_blocks = K / k_block;
  static constexpr int k_groups = K > k_block ? 3 : 4;
  static constexpr int k_columns = k_groups * k_block;
  static constexpr int k_warps = k_groups * k_group_warps;
  static constexpr int k_workers = k_warps * 32;
  static constexpr int k_feeders = 4;  // warps that feed them
  static constexpr int k_threads = k_workers + k_feeders * 32;
  static constexpr int k_stages = K > k_block ? 4 : 5;
  /// Of a row of C in shared memory: the lanes of half a warp then read no bank twice.
  static constexpr int k_pitch = k_columns + 4;
};

template <int K>
struct WideShared {
  using Sizes = WideSizes<K>;
  alignas(1024) std::uint16_t
      reflectors[Sizes::k_stages][Sizes::k_blocks][k_wide_rows / k_group_rows * k_group_elements];
  alignas(16) float c[Sizes::k_stages][k_wide_rows][Sizes::k_pitch];
  /// T; of a pair T of the first block, S, T of the second: high parts, then low, in tiles of eight
  /// rows as of reflectors.
  alignas(1024) std::uint16_t factors[2 * Sizes::k_blocks - 1][2][k_block * k_block];
  Message filled[Sizes::k_stages], freed[Sizes::k_stages];
  unsigned largest[Sizes::k_warps];
};

/// A place in the ring, and how often it was in use before.
struct WidePlace {
  int stage = 0, turn = 0;
  __device__ __forceinline__ void next(int stages) {
    if (++stage == stages) stage = 0, ++turn;
  }
};

#if KBENCH_QR_WARPGROUPS

template <int K>
struct WideApplier {
  using Shared = WideShared<K>;
  using Sizes = WideSizes<K>;
  using Place = WidePlace;
  static constexpr int k_blocks = Sizes::k_blocks;
  static constexpr int k_values = k_blocks * 32;  // that a thread holds of a product
  using Product = float[k_blocks][32];
  using StepOperand = std::uint32_t[2][4];  // of 16 reflectors: high parts, then low
  using Operand = StepOperand[k_blocks][4];

  const ApplyTask& task;
  Shared& shared;
  int thread, lane, warp;
  int first, count;     // chunks of this block
  int width;            // columns of this block
  const float* source;  // of the strip, row 0
  float* factor;
  const std::uint16_t* reflectors[k_blocks];
  const float* factors[2 * k_blocks - 1];

  __device__ __forceinline__ bool feeds() const { return warp >= Sizes::k_warps; }
  /// Whether this warp's group has columns.
  __device__ __forceinline__ bool works() const { return warp / k_group_warps * k_block < width; }
  /// The first of this lane's two columns in the strip: row g of a left operand stands for it, row
  /// g + 8 for the second (g = lane / 4).
  __device__ __forceinline__ int own_column() const { return warp * 16 + lane / 4 * 2; }
  __device__ __forceinline__ int row_of(int chunk) const {
    return task.row + (first + chunk) * k_wide_rows;
  }

  /// Makes T ready as right operands.
  __device__ __forceinline__ void split_factors() const {
    constexpr int units = k_block * k_block / 4;
#pragma unroll
    for (int which = 0; which < 2 * k_blocks - 1; ++which) {
      auto& to = shared.factors[which];
      for (int k = thread; k < units; k += Sizes::k_workers) {
        const int row = k / (k_block / 4), column = k % (k_block / 4) * 4;
        float4 four = *reinterpret_cast<const float4*>(&factors[which][row * k_block + column]);
        if (which % 2 == 0) {  // of T only the upper triangle counts
          four.x = row <= column ? four.x : 0, four.y = row <= column + 1 ? four.y : 0;
          four.z = row <= column + 2 ? four.z : 0, four.w = row <= column + 3 ? four.w : 0;
        }
        const BfPair left = split(four.x, four.y), right = split(four.z, four.w);
        const int at = row * k_block + ((column / 8) ^ (row % 8)) * 8 + column % 8;
        *reinterpret_cast<uint2*>(&to[0][at]) = {left.high, right.high};
        *reinterpret_cast<uint2*>(&to[1][at]) = {left.low, right.low};
      }
    }
  }

  /// Rows beyond the matrix meet C as zeros, so reflectors there only have to be finite.
  __device__ __forceinline__ void clear_reflectors() const {
    auto* units = reinterpret_cast<uint4*>(&shared.reflectors[0][0][0]);
    for (int k = thread; k < static_cast<int>(sizeof shared.reflectors / 16);
         k += Sizes::k_threads) {
      units[k] = {0, 0, 0, 0};
    }
  }

  /// By the warps that feed, one thread of each: all chunks into the ring, upwards or downwards.
  /// Each copies some rows of C, and the first of them the reflectors: one warp for all of them was
  /// what the others waited for.
  template <bool Upwards>
  __device__ __forceinline__ void feed(Place& place) const {
    constexpr int share = k_wide_rows / Sizes::k_feeders, step = Upwards ? 1 : -1;
    const int feeder = warp - Sizes::k_warps, line_bytes = width * 4;
    if (elected() && count > 0) {
      int row = row_of(Upwards ? 0 : count - 1);
      const float* from = source + static_cast<std::int64_t>(row + feeder * share) * task.n;
      const std::int64_t chunk_elements = static_cast<std::int64_t>(step * k_wide_rows) * task.n;
#pragma unroll 1
      for (int k = 0; k < count; ++k) {
        const int rows = task.n - row < k_wide_rows ? task.n - row : k_wide_rows;
        const int left = rows - feeder * share, own = left < 0 ? 0 : left < share ? left : share;
        const int v_bytes = feeder == 0 ? rows / k_group_rows * k_group_bytes : 0;
        Message& filled = shared.filled[place.stage];
        if (place.turn > 0) wait_until_told(shared.freed[place.stage], place.turn - 1);
        tell_with_bytes(filled, static_cast<unsigned>(own * line_bytes + k_blocks * v_bytes));
        if (feeder == 0) {
#pragma unroll
          for (int block = 0; block < k_blocks; ++block) {
            copy_bulk(shared.reflectors[place.stage][block],
                      reflectors[block] + reflector_at(row, 0), static_cast<unsigned>(v_bytes),
                      filled);
          }
        }
#pragma unroll
        for (int line = 0; line < share; ++line) {
          if (line >= own) break;
          copy_bulk(shared.c[place.stage][feeder * share + line],
                    from + static_cast<std::int64_t>(line) * task.n,
                    static_cast<unsigned>(line_bytes), filled);
        }
        row += step * k_wide_rows, from += chunk_elements;
        place.next(Sizes::k_stages);
      }
    }
    warp_barrier();
  }

  /// A stage that this thread needs no longer.
  __device__ __forceinline__ void free_stage(int stage) const { tell(shared.freed[stage]); }

  /// d += a b for BF16 pairs, the low parts of b so many bytes behind the high ones.
  __device__ __forceinline__ static void multiply_three(float (&d)[32], const StepOperand& a,
                                                        RightOperand high, int to_low) {
    multiply_rows(d, a[0], high);
    multiply_rows(d, a[0], moved(high, to_low));
    multiply_rows(d, a[1], high);
  }

  /// This lane's two columns of a row of a chunk: rows 2 t and so on (t = lane % 4).
  __device__ __forceinline__ const float* own_tile(int stage) const {
    return &shared.c[stage][lane % 4 * 2][own_column()];
  }

  /// Pass 1: product = `lift` C^T V over this block's rows; all bits of the magnitudes of C it saw.
  __device__ __forceinline__ unsigned project(Product& product, float lift, Place& place) const {
    unsigned seen = 0;
    std::uint32_t left[2][2][4] = {};  // step of 16 rows, part
#pragma unroll
    for (int block = 0; block < k_blocks; ++block) {
#pragma unroll
      for (int k = 0; k < 32; ++k) product[block][k] = 0;
    }
    int previous = -1;
#pragma unroll 1
    for (int chunk = 0; chunk < count; ++chunk) {
      const int row = row_of(chunk), own_rows = task.n - row - lane % 4 * 2;
      const bool partial = task.n - row < k_wide_rows;
      const float* tile = own_tile(place.stage);
      const auto take = [&](float2(&c)[4], int step) {  // rows 0, 1, 8, 9 of the step
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int below = step * 16 + k / 2 * 8 + k % 2;
          c[k] = *reinterpret_cast<const float2*>(&tile[below * Sizes::k_pitch]);
          if (partial && below >= own_rows) c[k] = {0, 0};
        }
      };
      wait_until_told(shared.filled[place.stage], place.turn);
      float2 c[4];
      take(c, 0);
      wait_products();
#pragma unroll
      for (int block = 0; block < k_blocks; ++block) settle(product[block]);
#pragma unroll
      for (int k = 0; k < 4; ++k) settle(left[k / 2][k % 2]);
      if (previous >= 0) free_stage(previous);
#pragma unroll
      for (int step = 0; step < 2; ++step) {
        if (step > 0) take(c, step);
#pragma unroll
        for (int k = 0; k < 4; ++k) seen |= __float_as_uint(c[k].x) | __float_as_uint(c[k].y);
        if (lift != 1) {
#pragma unroll
          for (int k = 0; k < 4; ++k) c[k].x *= lift, c[k].y *= lift;
        }
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const float2 &upper = c[q / 2 * 2], &lower = c[q / 2 * 2 + 1];
          const BfPair pair = q % 2 == 0 ? split(upper.x, lower.x) : split(upper.y, lower.y);
          left[step][0][q] = pair.high, left[step][1][q] = pair.low;
        }
      }
      begin_products();
#pragma unroll
      for (int block = 0; block < k_blocks; ++block) {
#pragma unroll
        for (int step = 0; step < 2; ++step) {
          const RightOperand high = right_operand(
              &shared.reflectors[place.stage][block][step * 2 * k_group_elements], k_group_bytes);
          multiply_three(product[block], left[step], high, k_part_bytes);
        }
      }
      commit_products();
      previous = place.stage;
      place.next(Sizes::k_stages);
    }
    wait_products();
#pragma unroll
    for (int block = 0; block < k_blocks; ++block) settle(product[block]);
    if (previous >= 0) free_stage(previous);
    return own_column() < width ? magnitude(__uint_as_float(seen)) : 0;
  }

  /// sign times 16 reflectors of a product as a left operand of BF16 pairs.
  __device__ __forceinline__ static void as_operand(StepOperand& operand,
                                                    const float (&product)[32], int step,
                                                    float sign) {
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const float* from = &product[4 * (2 * step + q / 2) + q % 2 * 2];
      const BfPair two = split(sign * from[0], sign * from[1]);
      operand[0][q] = two.high, operand[1][q] = two.low;
    }
  }

  /// weighted += 16 reflectors of W^T, times their rows of one of the factors.
  __device__ __forceinline__ void weigh(float (&weighted)[32], StepOperand& product, int which,
                                        int step) const {
    constexpr int tile_bytes = k_group_rows * k_block * 2;
    const RightOperand high =
        right_operand(&shared.factors[which][0][step * 16 * k_block], tile_bytes);
    begin_products();
    multiply_three(weighted, product, high, k_block * k_block * 2);
    commit_products();
    wait_products();
    settle(weighted);
    settle(product[0]), settle(product[1]);
  }

  /// As Products::find_weights. Step by step, for want of registers.
  __device__ __forceinline__ void find_weights(Operand& weights, Product& product) const {
#pragma unroll
    for (int block = 0; block < k_blocks; ++block) {
      float weighted[32] = {};
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        if (block > 0) weigh(product[block], weights[block - 1][step], 2 * block - 1, step);
      }
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        StepOperand operand;
        as_operand(operand, product[block], step, 1);
        weigh(weighted, operand, 2 * block, step);
      }
#pragma unroll
      for (int step = 0; step < 4; ++step) as_operand(weights[block][step], weighted, step, -1);
    }
  }

  /// Pass 2: C += `down` (weights V^T). The tensor cores round toward zero, so C is added to their
  /// sum, not they to C.
  __device__ __forceinline__ void update(Operand& weights, float down, Place& place) const {
    const bool inside = own_column() < width;
#pragma unroll 1
    for (int chunk = count - 1; chunk >= 0; --chunk) {
      const int row = row_of(chunk), own_row = row + lane % 4 * 2;
      const float* tile = own_tile(place.stage);
      float* to = factor + static_cast<std::int64_t>(own_row) * task.n + own_column();
      float sum[16] = {};
      wait_until_told(shared.filled[place.stage], place.turn);
      begin_products();
#pragma unroll
      for (int block = 0; block < k_blocks; ++block) {
        const RightOperand start =
            right_operand(&shared.reflectors[place.stage][block][0], k_group_bytes);
#pragma unroll
        for (int step = 0; step < 4; ++step) {
          const RightOperand high = moved(start, step * 32);
          multiply_columns(sum, weights[block][step][0], high);
          multiply_columns(sum, weights[block][step][0], moved(high, k_part_bytes));
          multiply_columns(sum, weights[block][step][1], high);
        }
      }
      commit_products();
      float2 c[8];  // of each eight rows two that follow each other
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        c[k] = *reinterpret_cast<const float2*>(&tile[(k / 2 * 8 + k % 2) * Sizes::k_pitch]);
      }
      wait_products();
      settle(sum);
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        const int below = k / 2 * 8 + k % 2;
        const float* own = &sum[k / 2 * 4 + k % 2];
        c[k].x = fmaf(own[0], down, c[k].x), c[k].y = fmaf(own[2], down, c[k].y);
        if (inside && own_row + below < task.n) {
          *reinterpret_cast<float2*>(&to[static_cast<std::int64_t>(below) * task.n]) = c[k];
        }
      }
      free_stage(place.stage);  // not before C is in registers: a message overtakes loads
      place.next(Sizes::k_stages);
    }
#pragma unroll
    for (int block = 0; block < k_blocks; ++block) {  // kept by asynchronous products until here
#pragma unroll
      for (int k = 0; k < 8; ++k) settle(weights[block][k / 2][k % 2]);
    }
  }

  /// A bit for every warp whose columns are all small and not all zero, in all blocks of the strip:
  /// behind a barrier, from what project_all() left.
  __device__ __forceinline__ unsigned small_warps() const {
    unsigned bits = 0;
#pragma unroll 1
    for (int other = 0; other < task.ranks && lane < Sizes::k_warps; ++other) {
      const auto* at = reinterpret_cast<const float*>(&shared.largest[lane]);
      bits |= __float_as_uint(task.ranks == 1 ? *at : load_twin(at, other));
    }
    return __ballot_sync(k_full_warp, bits != 0 && bits < k_small_bits);
  }

  /// This thread's values of the product, for the other blocks; they lie over the ring.
  __device__ __forceinline__ float* parts() const {
    return reinterpret_cast<float*>(&shared) + thread;
  }
  __device__ __forceinline__ void put_parts(const Product& product) const {
#pragma unroll
    for (int k = 0; k < k_values; ++k) parts()[k * Sizes::k_workers] = product[k / 32][k % 32];
  }
  /// Its sum over the blocks of the strip, in the order of their ranks.
  __device__ __forceinline__ void take_parts(Product& product) const {
    constexpr int together = 8;
#pragma unroll
    for (int k = 0; k < k_values; k += together) {
      float sum[together] = {};
#pragma unroll
      for (int other = 0; other < k_wide_most_ranks; ++other) {
        if (other >= task.ranks) break;
#pragma unroll
        for (int j = 0; j < together; ++j) {
          sum[j] += load_twin(&parts()[(k + j) * Sizes::k_workers], other);
        }
      }
#pragma unroll
      for (int j = 0; j < together; ++j) product[(k + j) / 32][(k + j) % 32] = sum[j];
    }
  }

  /// Pass 1 by all warps; what small_warps() looks at, and the parts, are there.
  __device__ __forceinline__ void project_all(Product& product, float lift, Place& place) const {
    if (feeds()) {
      feed<true>(place);
    } else {
      const unsigned seen = works() ? project(product, lift, place) : 0;
      const unsigned largest = __reduce_max_sync(k_full_warp, seen);
      if (lane == 0) shared.largest[warp] = largest;
    }
    if (task.ranks > 1) {
      block_barrier();  // the parts lie over the ring
      if (!feeds() && works()) put_parts(product);
    }
    strip_barrier(task);
  }

  __device__ __forceinline__ void run() const {
    if (thread == 0) {
      const int workers = (width + k_block - 1) / k_block * k_group_warps * 32;
      for (int k = 0; k < Sizes::k_stages; ++k) {
        prepare_message(shared.filled[k], Sizes::k_feeders);
        prepare_message(shared.freed[k], workers);
      }
    }
    if (task.n % k_wide_rows != 0) clear_reflectors();
    if (!feeds()) split_factors();
    fence_shared();
    block_barrier();
    Place place;
    Product product;
    float lift = 1;
    project_all(product, lift, place);
    const unsigned small = small_warps();
    if (small != 0) {
      if (!feeds() && (small >> warp & 1u) != 0) lift = k_lift;
      if (task.n % k_wide_rows != 0) clear_reflectors();  // parts lie there
      fence_shared();
      strip_barrier(task);  // what small_warps() looks at is read no more
      project_all(product, lift, place);
    }
    if (task.ranks > 1) {
      if (!feeds() && works()) take_parts(product);
      fence_shared();
      strip_barrier(task);  // the ring lies over the parts, and no block leaves while another reads
    }
    if (feeds()) {
      feed<false>(place);
    } else if (works()) {
      Operand weights;
      find_weights(weights, product);
      update(weights, 1 / lift, place);
    }
  }
};

#endif  // KBENCH_QR_WARPGROUPS

/// Grid: batch x strips x ranks blocks, the ranks of a strip forming a cluster.
template <int K>
__global__ void __launch_bounds__(KBENCH_QR_WARPGROUPS ? WideSizes<K>::k_threads : 32, 1)
    apply_wide(const ApplyTask task) {
#if KBENCH_QR_WARPGROUPS
  constexpr int blocks = K / k_block;
  static_assert(K * WideSizes<K>::k_columns * sizeof(float) <= offsetof(WideShared<K>, factors));
  const std::int64_t strip = static_cast<std::int64_t>(blockIdx.x) / task.ranks, n = task.n;
  const std::int64_t matrix = strip / task.strips;
  const int rank = static_cast<int>(blockIdx.x % static_cast<unsigned>(task.ranks));
  const int column = task.begin + static_cast<int>(strip % task.strips) * task.width;
  const int thread = static_cast<int>(threadIdx.x);
  const int all = (task.n - task.row + k_wide_rows - 1) / k_wide_rows;
  const int share = (all + task.ranks - 1) / task.ranks, first = rank * share;
  const int left = all - first;
  WideApplier<K> applier{task,
                         shared_as<WideShared<K>>(),
                         thread,
                         thread % 32,
                         thread / 32,
                         first,
                         left < 0       ? 0
                         : left < share ? left
                                        : share,
                         task.end - column < task.width ? task.end - column : task.width,
                         task.source + matrix * n * n + column,
                         task.factor + matrix * n * n + column,
                         {},
                         {}};
  applier.reflectors[0] = task.reflectors + matrix * reflector_elements(n);
  applier.factors[0] = task.block + matrix * k_factor_elements;
  if constexpr (blocks > 1) {
    applier.reflectors[1] = task.second_reflectors + matrix * reflector_elements(n);
    applier.factors[1] = task.cross + matrix * k_factor_elements;
    applier.factors[2] = task.second_block + matrix * k_factor_elements;
  }
  applier.run();
#endif
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_WIDE_APPLY_CUH
