// The launches of one call, which depend on the shape and the device alone: how many thread blocks
// share a matrix, what each of them keeps where, and how the workspace is divided.
#ifndef KBENCH_EIGH_TRIDIAGONAL_PLAN_CUH
#define KBENCH_EIGH_TRIDIAGONAL_PLAN_CUH

#include <algorithm>
#include <array>
#include <cstdint>

#include "back_transform.cuh"
#include "back_transform_plain.cuh"
#include "reduce.cuh"
#include "reduce_warp.cuh"
#include "solve.cuh"

namespace tridiagonal {

struct DeviceFacts {
  int shared_per_block;
  std::int64_t cache_bytes;  // of the L2 cache
  /// How many reductions run at once on 1, 2, 4, 8 and 16 thread blocks each; 0 where clusters of
  /// that size do not run. Fewer than the multiprocessors suggest: a cluster does not span two of
  /// the groups that they come in, and these differ in size.
  std::array<int, 5> teams;
};

/// What the back-transformation multiplies: FP16 pairs on the tensor cores, or FP32.
enum class Products { half_pairs, full };

/// Byte offsets into the workspace.
struct Workspace {
  std::uint64_t reflectors, tau, diagonal, coupling, down, spill, outside, rows, bound, pivots,
      norms, flags, pairs, factors, bytes;
};

struct Plan {
  std::int64_t batch, n;
  Products products;
  int ranks;     // thread blocks that reduce a matrix; 0 where none of the choices fits
  Home home;     // of the reduction's vectors
  bool in_warp;  // whether reduce_in_warp does it
  int resident, spilled;
  int shared_bytes;  // of the reduction
  Workspace workspace;
};

/// How a matrix of this size would be spread over `ranks` thread blocks, of one warp if `in_warp`.
struct Spread {
  int ranks;
  Home home;
  int resident, spilled, shared_bytes, outside_bytes;
  bool fits, in_warp;
};
constexpr Spread k_one_warp{1, Home::shared, 0, 0, sizeof(WarpShared), 0, true, true};

inline Spread spread(int n, int ranks, Home home, const DeviceFacts& device) {
  constexpr int block_bytes = k_block_elements * 4;
  const SharedLayout layout = shared_layout(n, ranks, home);
  const int room = device.shared_per_block - layout.resident;
  const int beyond = std::max(0, layout.blocks - k_warps);
  const int resident = std::max(0, std::min(beyond, room / block_bytes));
  return {ranks,
          home,
          resident,
          beyond - resident,
          layout.resident + resident * block_bytes,
          layout.outside_bytes,
          room >= 0,
          false};
}

/// What a step takes, in microseconds: fitted to the reductions of six shapes on 1 to 16 thread
/// blocks, each measured on an NVIDIA H200 on 2026-11-30, all within 20 %. The reduction has become
/// faster since (2026-12-01: 15.6 ms instead of 17.4 for 640 x 512 on one, 14.7 for 60 x 1024 on
/// four, 31.5 for 8 x 2048 on eight), the choice between spreads has not changed.
struct StepCost {
  double alone = 2.9, small_team = 4.1, large_team = 5.2;  // barriers and vectors
  double resident = 0.14, spilled = 0.14;                  // for each block, dead ones included
};

/// Estimated time of the reductions of a batch, in microseconds. What is spilled passes through the
/// L2 cache, and slows down by as much as it exceeds it.
inline double estimate(const Spread& s, std::int64_t batch, int n, const DeviceFacts& device) {
  constexpr StepCost cost;
  const int at_once = device.teams[static_cast<std::size_t>(rank_shift(s.ranks))];
  const double waves = static_cast<double>((batch + at_once - 1) / at_once);
  const double blocks = static_cast<double>(std::min<std::int64_t>(batch, at_once)) * s.ranks;
  const double bytes = blocks * s.spilled * k_block_elements * 4;
  const double excess = std::max(1.0, bytes / static_cast<double>(device.cache_bytes));
  const double vectors = s.ranks == 1                  ? cost.alone
                         : s.ranks < k_two_stage_ranks ? cost.small_team
                                                       : cost.large_team;
  return waves * n * (vectors + cost.resident * s.resident + cost.spilled * s.spilled * excess);
}

/// The fastest spread with the vectors there, by the estimate; on `asked` thread blocks unless 0.
inline Spread choose_spread(std::int64_t batch, int n, Home home, const DeviceFacts& device,
                            int asked) {
  Spread best{};
  double least = 0;
  for (int ranks = 1; ranks <= k_max_ranks; ranks *= 2) {
    if (device.teams[static_cast<std::size_t>(rank_shift(ranks))] == 0) continue;
    if (asked != 0 && ranks != asked) continue;
    const Spread candidate = spread(n, ranks, home, device);
    if (!candidate.fits) continue;
    const double time = estimate(candidate, batch, n, device);
    if (best.fits && time >= least) continue;
    best = candidate;
    least = time;
  }
  return best;
}

/// A warp takes what it can hold; vectors stay in shared memory wherever any spread allows it.
inline Spread choose_spread(std::int64_t batch, int n, const DeviceFacts& device, int asked) {
  if (n <= k_warp_rows) return k_one_warp;
  const Spread inside = choose_spread(batch, n, Home::shared, device, asked);
  return inside.fits ? inside : choose_spread(batch, n, Home::outside, device, asked);
}

inline Workspace divide_workspace(std::int64_t batch, std::int64_t n, Products products,
                                  const Spread& s) {
  Workspace w{};
  const auto take = [&w](std::int64_t elements, std::size_t size) {
    const std::uint64_t from = w.bytes;
    w.bytes += (static_cast<std::uint64_t>(elements) * size + 255) / 256 * 256;
    return from;
  };
  const std::int64_t blocks = reflector_blocks(static_cast<int>(n));
  w.reflectors = take(batch * n * n, sizeof(float));
  w.tau = take(batch * n, sizeof(float));
  w.diagonal = take(batch * n, sizeof(float));
  w.coupling = take(batch * n, sizeof(float));
  w.down = take(batch, sizeof(float));
  w.spill = take(batch * s.ranks * s.spilled * k_block_elements, sizeof(float));
  w.outside = take(batch * s.ranks * s.outside_bytes, 1);
  w.rows = take(batch * padded_rows(static_cast<int>(n)), sizeof(Row));
  w.bound = take(batch, sizeof(double));
  w.pivots = take(batch * n * n, sizeof(double));
  w.norms = take(batch * n, sizeof(float));
  w.flags = take(batch, sizeof(unsigned));
  const bool in_pairs = products == Products::half_pairs;
  w.pairs = take(in_pairs ? batch * blocks * n * k_reflector_pitch : 0, sizeof(std::uint16_t));
  w.factors = take(batch * blocks * k_factor_elements, sizeof(float));
  return w;
}

/// `asked` other than 0: thread blocks per matrix, where one warp does not do.
inline Plan make_plan(std::int64_t batch, std::int64_t n, Products products,
                      const DeviceFacts& device, int asked) {
  const Spread s = choose_spread(batch, static_cast<int>(n), device, asked);
  Plan plan{};
  plan.batch = batch;
  plan.n = n;
  plan.products = products;
  plan.ranks = s.fits ? s.ranks : 0;
  plan.home = s.home;
  plan.in_warp = s.in_warp;
  plan.resident = s.resident;
  plan.spilled = s.spilled;
  plan.shared_bytes = s.shared_bytes;
  plan.workspace = divide_workspace(batch, n, products, s);
  return plan;
}

/// The addresses of one call.
struct Buffers {
  const float* a;  // [batch, n, n]
  float* q;        // [batch, n, n] row-major
  float* l;        // [batch, n]
  unsigned char* workspace;
  unsigned* flagged;  // see SolveTask
};

template <class T>
T* part(const Buffers& buffers, std::uint64_t offset) {
  return reinterpret_cast<T*>(buffers.workspace + offset);
}

inline ReduceTask reduce_task(const Plan& plan, const Buffers& b) {
  const Workspace& w = plan.workspace;
  return {b.a,
          part<float>(b, w.reflectors),
          part<float>(b, w.tau),
          part<float>(b, w.diagonal),
          part<float>(b, w.coupling),
          part<float>(b, w.down),
          part<float4>(b, w.spill),
          part<unsigned char>(b, w.outside),
          static_cast<int>(plan.n),
          plan.ranks,
          plan.resident,
          plan.spilled};
}

/// Of the first attempt, or of the second, for flagged matrices alone.
inline SolveTask solve_task(const Plan& plan, const Buffers& b, bool again) {
  const Workspace& w = plan.workspace;
  const int n = static_cast<int>(plan.n);
  return {part<float>(b, w.diagonal),
          part<float>(b, w.coupling),
          part<float>(b, w.down),
          part<Row>(b, w.rows),
          part<double>(b, w.bound),
          part<double>(b, w.pivots),
          b.l,
          b.q,
          part<float>(b, w.norms),
          part<unsigned>(b, w.flags),
          b.flagged,
          dot_limit(n),
          n,
          (n + k_solve_threads - 1) / k_solve_threads,
          again};
}

inline ReflectorTask reflector_task(const Plan& plan, const Buffers& b) {
  const Workspace& w = plan.workspace;
  const bool in_pairs = plan.products == Products::half_pairs;
  return {part<float>(b, w.reflectors), part<float>(b, w.tau),
          in_pairs ? part<std::uint16_t>(b, w.pairs) : nullptr, part<float>(b, w.factors),
          static_cast<int>(plan.n)};
}

inline TransformTask transform_task(const Plan& plan, const Buffers& b) {
  const Workspace& w = plan.workspace;
  const int n = static_cast<int>(plan.n);
  return {b.q,
          part<float>(b, w.norms),
          part<std::uint16_t>(b, w.pairs),
          part<float>(b, w.factors),
          part<unsigned>(b, w.flags),
          n,
          (n + k_strip_columns - 1) / k_strip_columns};
}

/// Of all matrices, or of the flagged ones where the others are transformed in pairs.
inline PlainTask plain_task(const Plan& plan, const Buffers& b) {
  const Workspace& w = plan.workspace;
  const int n = static_cast<int>(plan.n);
  return {b.q,
          part<float>(b, w.norms),
          part<float>(b, w.reflectors),
          part<float>(b, w.factors),
          plan.products == Products::full ? nullptr : part<unsigned>(b, w.flags),
          n,
          (n + k_plain_side - 1) / k_plain_side};
}

}  // namespace tridiagonal

#endif  // KBENCH_EIGH_TRIDIAGONAL_PLAN_CUH
