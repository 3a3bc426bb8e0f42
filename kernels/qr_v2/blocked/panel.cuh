// Factors one panel of up to 32 columns by Householder reflections, the panel held in registers:
// a thread owns R whole rows, a team of `ranks` blocks of WARPS warps owns all of them.
//
// One exchange per column. Before it, each thread multiplies its rows' leading elements with their
// other columns; the sums over the team give, with the pivot row, the norm of the tail and every
// product v^T x at once, because v is the tail up to a factor known afterwards. The columns rotate
// through the registers: column j is always in slot 0, so the loop over j need not be unrolled.
#ifndef KBENCH_QR_BLOCKED_PANEL_CUH
#define KBENCH_QR_BLOCKED_PANEL_CUH

#include "block_factor.cuh"
#include "team.cuh"

namespace blocked {

template <int R>
using Rows = float[R][k_panel];

/// The rows of a thread: local row first + r * step of the panel's m rows.
struct RowRange {
  int first, step, m;
};

/// Slot that holds column c after the four groups of eight rotations.
__device__ constexpr int final_slot(int c) { return 24 - c / 8 * 8 + c % 8; }

/// Reads the panel's columns of the thread's rows; what lies outside the matrix reads as zero.
template <int R>
__device__ __forceinline__ void load_rows(Rows<R>& x, const float* panel, int n, int width,
                                          const RowRange& rows) {
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const int row = rows.first + r * rows.step;
    const float* from = panel + static_cast<std::int64_t>(row) * n;
    const bool inside = row < rows.m;
    if (n % 4 == 0) {
#pragma unroll
      for (int c = 0; c < k_panel; c += 4) {
        float4 four = {0, 0, 0, 0};
        if (inside && c < width) four = load_past_l1(reinterpret_cast<const float4*>(from + c));
        x[r][c] = four.x, x[r][c + 1] = four.y, x[r][c + 2] = four.z, x[r][c + 3] = four.w;
      }
    } else {
#pragma unroll
      for (int c = 0; c < k_panel; ++c) x[r][c] = inside && c < width ? load_past_l1(from + c) : 0;
    }
  }
}

/// The column scales of the panel, lane c holding column c's; false if the panel is all zero.
template <int R, bool Cluster>
__device__ __forceinline__ bool find_scales(const Rows<R>& x, PanelShared& shared, Team& team,
                                            ColumnScale& scale) {
  unsigned largest[k_panel];
#pragma unroll
  for (int c = 0; c < k_panel; ++c) {
    largest[c] = magnitude(x[0][c]);
#pragma unroll
    for (int r = 1; r < R; ++r) largest[c] = Largest::of(largest[c], magnitude(x[r][c]));
  }
  const unsigned own = reduce_columns<Largest>(largest, team.lane);
  const unsigned all = exchange_largest<Cluster>(shared, team, own);
  scale = scale_of(all);
  return __any_sync(k_full_warp, all != 0) != 0;
}

/// Hands lane c's value to every lane as element c of the warp's private row.
__device__ __forceinline__ const float4* share_in_warp(PanelShared& shared, const Team& team,
                                                       float value) {
  warp_barrier();
  shared.weights[team.warp][team.lane] = value;
  warp_barrier();
  return reinterpret_cast<const float4*>(shared.weights[team.warp]);
}

__device__ __forceinline__ float element(const float4& four, int k) {
  return k == 0 ? four.x : k == 1 ? four.y : k == 2 ? four.z : four.w;
}

template <int R>
__device__ __forceinline__ void scale_columns(Rows<R>& x, const float4* up) {
#pragma unroll
  for (int c = 0; c < k_panel; ++c) {
    const float factor = element(up[c / 4], c % 4);
#pragma unroll
    for (int r = 0; r < R; ++r) x[r][c] *= factor;
  }
}

/// Publishes the pivot row's first W slots to the team; called by the warp that holds it.
template <int W, bool Cluster>
__device__ __forceinline__ void publish_pivot(const float (&row)[k_panel], bool is_pivot,
                                              PanelShared& shared, const Team& team) {
  if (is_pivot) {
#pragma unroll
    for (int c = 0; c < W; c += 4) {
      *reinterpret_cast<float4*>(&shared.pivot[c]) = {row[c], row[c + 1], row[c + 2], row[c + 3]};
    }
  }
  warp_barrier();
  if (team.lane < W) {
    publish<Cluster>(&shared.parts[team.parity][k_pivot_row][team.lane], team,
                     shared.pivot[team.lane]);
  }
}

/// The reflector of the column in slot 0 and lane c's weight tau v^T x_c of slot c < live.
/// `lead` receives the tail of the column (zero in rows that are no tail), `boost` times.
template <int W, int R, bool Cluster>
__device__ __forceinline__ Reflector find_reflector(const Rows<R>& x, float (&lead)[R], int pivot,
                                                    PanelShared& shared, Team& team,
                                                    float& weight) {
  const bool is_pivot = team.holds_pivots() && team.lane == pivot;
  const bool is_tail = !(team.holds_pivots() && team.lane <= pivot);
  const int live = W - pivot % 8;
  float boost = 1;
  for (;;) {
#pragma unroll
    for (int r = 0; r < R; ++r) lead[r] = r > 0 || is_tail ? x[r][0] * boost : 0;
    float sum[W];
    sum[0] = lead[0] * lead[0];
#pragma unroll
    for (int r = 1; r < R; ++r) sum[0] = fmaf(lead[r], lead[r], sum[0]);
#pragma unroll
    for (int c = 1; c < W; ++c) {
      sum[c] = lead[0] * x[0][c];
#pragma unroll
      for (int r = 1; r < R; ++r) sum[c] = fmaf(lead[r], x[r][c], sum[c]);
    }
    const float own = reduce_columns<Sum>(sum, team.lane);
    if (team.lane < W) {
      publish<Cluster>(&shared.parts[team.parity][team.part()][team.lane], team, own);
    }
    if (team.holds_pivots()) publish_pivot<W, Cluster>(x[0], is_pivot, shared, team);
    const Exchanged got = exchange<Cluster>(shared, team);
    const float tail_square = __shfl_sync(k_full_warp, got.sum, 0);
    const float alpha = got.alpha * boost;
    if (boost == 1 && fmaf(alpha, alpha, tail_square) < k_small_square) {
      boost = k_boost;
      continue;
    }
    Reflector h = reflect(alpha, tail_square);
    h.beta = boost == 1 ? h.beta : h.beta * k_unboost;
    const bool updated = team.lane >= 1 && team.lane < live;
    weight = updated ? h.tau * fmaf(h.inverse, got.sum, got.pivot) : 0;
    return h;
  }
}

/// Factors columns 32 - W .. 39 - W of the panel, which lie in slots 0 .. 7.
template <int W, int R, bool Cluster>
__device__ __forceinline__ void factor_group(Rows<R>& x, PanelShared& shared, Team& team) {
#pragma unroll 1
  for (int pivot = k_panel - W; pivot < k_panel - W + 8; ++pivot) {
    float lead[R], weight;
    const Reflector h = find_reflector<W, R, Cluster>(x, lead, pivot, shared, team, weight);
    if (team.holds_pivots() && team.lane == 0) shared.tau[pivot] = h.tau;

    float finished[R];
#pragma unroll
    for (int r = 0; r < R; ++r) finished[r] = lead[r] *= h.inverse;
    if (team.holds_pivots() && team.lane <= pivot) {
      finished[0] = team.lane == pivot ? h.beta : x[0][0];
      lead[0] = team.lane == pivot ? 1 : 0;
    }
    const float4* weights = share_in_warp(shared, team, weight);
#pragma unroll
    for (int c = 1; c < W; ++c) {
      const float w = element(weights[c / 4], c % 4);
#pragma unroll
      for (int r = 0; r < R; ++r) x[r][c - 1] = fmaf(-lead[r], w, x[r][c]);
    }
#pragma unroll
    for (int r = 0; r < R; ++r) x[r][W - 1] = finished[r];
  }
}

/// Writes one finished row of 32 columns as FP32; `value` is in column order.
__device__ __forceinline__ void store_row(float* to, const float (&value)[k_panel], int n,
                                          int width) {
  if (n % 4 == 0) {
#pragma unroll
    for (int c = 0; c < k_panel; c += 4) {
      const float4 four = {value[c], value[c + 1], value[c + 2], value[c + 3]};
      if (c < width) *reinterpret_cast<float4*>(to + c) = four;
    }
  } else {
#pragma unroll
    for (int c = 0; c < k_panel; ++c) {
      if (c < width) to[c] = value[c];
    }
  }
}

/// Writes a row's elements from column `first` on as BF16 high and low parts.
__device__ __forceinline__ void store_reflectors(std::uint16_t* reflectors, std::int64_t row,
                                                 int first, const float (&value)[k_panel]) {
#pragma unroll
  for (int c = 0; c < k_panel; c += 8) {
    BfPair pair[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) pair[k] = split(value[c + 2 * k], value[c + 2 * k + 1]);
    std::uint16_t* to = reflectors + reflector_at(row, first + c);
    *reinterpret_cast<uint4*>(to) = {pair[0].high, pair[1].high, pair[2].high, pair[3].high};
    *reinterpret_cast<uint4*>(to + k_low_part) = {pair[0].low, pair[1].low, pair[2].low,
                                                  pair[3].low};
  }
}

/// What row `row` of the panel contributes to H (R above, v below) and to V (unit diagonal).
/// Only local rows below 32 hold elements of R; `down` undoes the column scales there.
__device__ __forceinline__ void finish_row(float (&h)[k_panel], float (&v)[k_panel], int row,
                                           const float4* down) {
  if (row >= k_panel) return;
#pragma unroll
  for (int c = 0; c < k_panel; ++c) {
    v[c] = row > c ? v[c] : row == c ? 1 : 0;
    h[c] = row > c ? h[c] : h[c] * element(down[c / 4], c % 4);
  }
}

template <int R>
__device__ __forceinline__ void store_rows(const Rows<R>& x, const PanelTask& task,
                                           std::int64_t matrix, int width, const RowRange& rows,
                                           const float4* down) {
  const std::int64_t n = task.n;
  float* panel = task.factor + matrix * n * n + task.column * n + task.column;
  std::uint16_t* reflectors = task.reflectors + matrix * reflector_elements(n);
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const int row = rows.first + r * rows.step;
    if (row >= rows.m) continue;
    float h[k_panel], v[k_panel];
#pragma unroll
    for (int c = 0; c < k_panel; ++c) h[c] = v[c] = x[r][final_slot(c)];
    if (r == 0) finish_row(h, v, row, down);
    store_row(panel + row * n, h, task.n, width);
    if (task.keep_block) {
      store_reflectors(reflectors, task.column + row, task.second ? k_panel : 0, v);
    }
  }
}

/// Blocks per multiprocessor that the registers of a panel kernel shall leave room for. A cluster
/// is launched where matrices are few: there the time of one column counts, not the occupancy.
__host__ __device__ constexpr int resident_panels(int rows, bool cluster) {
  return cluster || rows >= 4 ? 2 : rows == 1 ? 4 : 3;
}

template <int WARPS, bool Cluster>
__device__ __forceinline__ Team make_team(const PanelTask& task) {
  const int thread = static_cast<int>(threadIdx.x);
  return {thread % 32, thread / 32, WARPS, Cluster ? cluster_rank() : 0, Cluster ? task.ranks : 1};
}

/// The whole team: factors one panel of one matrix. Rows: m = n - column <= ranks x R x 32 WARPS.
template <int WARPS, int R, bool Cluster>
__device__ __forceinline__ void factor_rows(const PanelTask& task, std::int64_t matrix,
                                            PanelShared& shared, Team& team) {
  const std::int64_t n = task.n;
  const int m = task.n - task.column;
  const int width = m < k_panel ? m : k_panel;
  constexpr int step = WARPS * 32;
  const RowRange rows{team.rank * R * step + team.warp * 32 + team.lane, step, m};

  Rows<R> x;
  load_rows<R>(x, task.source + matrix * n * n + task.column * n + task.column, task.n, width,
               rows);
  if (team.holds_pivots()) shared.tau[team.lane] = 0;
  // A block's shared memory may be written from outside only once the block runs.
  if constexpr (Cluster) cluster_barrier();
  ColumnScale scale;
  // Exact, decided by the data: a panel of zeros is its own R, with tau = 0 and V = I.
  if (find_scales<R, Cluster>(x, shared, team, scale)) {
    scale_columns<R>(x, share_in_warp(shared, team, scale.up));
    factor_group<32, R, Cluster>(x, shared, team);
    factor_group<24, R, Cluster>(x, shared, team);
    factor_group<16, R, Cluster>(x, shared, team);
    factor_group<8, R, Cluster>(x, shared, team);
  }
  store_rows<R>(x, task, matrix, width, rows, share_in_warp(shared, team, scale.down));
  if (team.holds_pivots() && team.lane < width) {
    task.tau[matrix * n + task.column + team.lane] = shared.tau[team.lane];
  }
  if constexpr (WARPS == k_panel_warps) {
    if (task.keep_block) {
      build_block_factor<Cluster>(task, matrix, team.rank * R * step, R * step, shared, team);
    }
  }
}

/// Grid: batch x ranks blocks.
template <int WARPS, int R, bool Cluster>
__global__ void __launch_bounds__(WARPS * 32, resident_panels(R, Cluster))
    factor_panel(const PanelTask task) {
  Team team = make_team<WARPS, Cluster>(task);
  const std::int64_t matrix = static_cast<std::int64_t>(blockIdx.x) / team.ranks;
  if (!is_left_over(task.doubtful, matrix)) return;
  factor_rows<WARPS, R, Cluster>(task, matrix, shared_as<PanelShared>(), team);
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_PANEL_CUH
