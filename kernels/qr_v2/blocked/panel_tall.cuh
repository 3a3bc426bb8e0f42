// Factors one panel that is too tall for the registers of a team: its rows stay in global memory,
// in the factor itself, and every column costs one pass over them.
//
// A pass applies the reflector of one column and forms the products of the next, so each element
// is read and written once per column. Slower per column than the register panel, but without a
// limit on the number of rows.
#ifndef KBENCH_QR_BLOCKED_PANEL_TALL_CUH
#define KBENCH_QR_BLOCKED_PANEL_TALL_CUH

#include "panel.cuh"

namespace blocked {

/// The rows [begin, end) of the panel that belong to this block, thread by thread.
struct TallRows {
  float* panel;  // the panel's first element in the factor
  std::int64_t n;
  int width, begin, end, thread;

  template <class Work>
  __device__ __forceinline__ void each(const Work& work) const {
    for (int row = begin + thread; row < end; row += k_panel_warps * 32) work(row, panel + row * n);
  }
  __device__ __forceinline__ void load(float (&x)[1][k_panel], const float* from) const {
    load_rows<1>(x, from, static_cast<int>(n), width, {0, 1, 1});
  }
  __device__ __forceinline__ void store(float* to, const float (&x)[k_panel]) const {
    store_row(to, x, static_cast<int>(n), width);
  }
};

/// x[c] with c known only at run time, without indexing registers.
__device__ __forceinline__ float pick(const float (&x)[k_panel], int c) {
  float picked = 0;
#pragma unroll
  for (int k = 0; k < k_panel; ++k) picked = k == c ? x[k] : picked;
  return picked;
}

/// Adds a tail row's part to the products of column `pivot`; its square has both factors boosted.
__device__ __forceinline__ void add_products(float (&sum)[k_panel], const float (&x)[k_panel],
                                             int pivot, float boost) {
  const float lead = pick(x, pivot) * boost;
#pragma unroll
  for (int c = 0; c < k_panel; ++c) sum[c] = fmaf(lead, c == pivot ? lead : x[c], sum[c]);
}

/// Copies the panel into the factor with its columns scaled.
template <bool Cluster>
__device__ bool scale_tall(const TallRows& rows, const float* source, PanelShared& shared,
                           Team& team, ColumnScale& scale) {
  unsigned largest[k_panel] = {};
  rows.each([&](int row, float*) {
    float x[1][k_panel];
    rows.load(x, source + row * rows.n);
#pragma unroll
    for (int c = 0; c < k_panel; ++c) largest[c] = Largest::of(largest[c], magnitude(x[0][c]));
  });
  const unsigned own = reduce_columns<Largest>(largest, team.lane);
  const unsigned all = exchange_largest<Cluster>(shared, team, own);
  scale = scale_of(all);
  const float4* up = share_in_warp(shared, team, scale.up);
  rows.each([&](int row, float* to) {
    float x[1][k_panel];
    rows.load(x, source + row * rows.n);
    scale_columns<1>(x, up);
    rows.store(to, x[0]);
  });
  return __any_sync(k_full_warp, all != 0) != 0;
}

/// Forms the products of column `pivot`, taken `boost` times, over all rows.
__device__ __forceinline__ void products_tall(const TallRows& rows, float (&sum)[k_panel],
                                              int pivot, float boost) {
#pragma unroll
  for (int c = 0; c < k_panel; ++c) sum[c] = 0;
  rows.each([&](int row, float* at) {
    float x[1][k_panel];
    rows.load(x, at);
    if (row > pivot) add_products(sum, x[0], pivot, boost);
  });
}

/// Exchanges the products and the pivot row; the reflector, and lane c's weight of column c.
template <bool Cluster>
__device__ Reflector find_reflector_tall(const TallRows& rows, float (&sum)[k_panel], int pivot,
                                         PanelShared& shared, Team& team, float& weight,
                                         float& boost) {
  boost = 1;
  for (;;) {
    const float own = reduce_columns<Sum>(sum, team.lane);
    publish<Cluster>(&shared.parts[team.parity][team.part()][team.lane], team, own);
    if (team.holds_pivots()) {
      warp_barrier();  // the pivot row was written by another lane
      const float at =
          pivot < rows.end && team.lane < rows.width ? rows.panel[pivot * rows.n + team.lane] : 0;
      publish<Cluster>(&shared.parts[team.parity][k_pivot_row][team.lane], team, at);
    }
    const Exchanged got = exchange<Cluster>(shared, team);
    const float tail_square = __shfl_sync(k_full_warp, got.sum, pivot);
    const float alpha = __shfl_sync(k_full_warp, got.pivot, pivot) * boost;
    if (boost == 1 && fmaf(alpha, alpha, tail_square) < k_small_square) {
      boost = k_boost;
      products_tall(rows, sum, pivot, boost);
      continue;
    }
    Reflector h = reflect(alpha, tail_square);
    h.beta = boost == 1 ? h.beta : h.beta * k_unboost;
    weight = team.lane > pivot ? h.tau * fmaf(h.inverse, got.sum, got.pivot) : 0;
    return h;
  }
}

/// Applies the reflector of column `pivot` and forms the products of the next column.
__device__ __forceinline__ void pass_tall(const TallRows& rows, float (&sum)[k_panel], int pivot,
                                          const Reflector& h, float boost, const float4* weights) {
#pragma unroll
  for (int c = 0; c < k_panel; ++c) sum[c] = 0;
  rows.each([&](int row, float* at) {
    if (row < pivot) return;
    float x[1][k_panel];
    rows.load(x, at);
    const float v = row == pivot ? 1 : pick(x[0], pivot) * boost * h.inverse;
#pragma unroll
    for (int c = 0; c < k_panel; ++c) {
      const float updated = fmaf(-v, element(weights[c / 4], c % 4), x[0][c]);
      x[0][c] = c == pivot ? (row == pivot ? h.beta : v) : updated;
    }
    rows.store(at, x[0]);
    if (row > pivot + 1) add_products(sum, x[0], pivot + 1, 1);
  });
}

template <bool Cluster>
__device__ void factor_tall(const TallRows& rows, PanelShared& shared, Team& team) {
  float sum[k_panel];
  products_tall(rows, sum, 0, 1);
#pragma unroll 1
  for (int pivot = 0; pivot < rows.width; ++pivot) {
    float weight, boost;
    const Reflector h = find_reflector_tall<Cluster>(rows, sum, pivot, shared, team, weight, boost);
    if (team.holds_pivots() && team.lane == 0) shared.tau[pivot] = h.tau;
    pass_tall(rows, sum, pivot, h, boost, share_in_warp(shared, team, weight));
  }
}

/// Unscales R and writes the reflectors' BF16 pairs.
__device__ __forceinline__ void finish_tall(const TallRows& rows, const PanelTask& task,
                                            std::int64_t matrix, const float4* down) {
  std::uint16_t* reflectors = task.reflectors + matrix * reflector_elements(rows.n);
  rows.each([&](int row, float* at) {
    float h[1][k_panel], v[k_panel];
    rows.load(h, at);
#pragma unroll
    for (int c = 0; c < k_panel; ++c) v[c] = h[0][c];
    finish_row(h[0], v, row, down);
    if (row < k_panel) rows.store(at, h[0]);
    if (task.keep_block) {
      store_reflectors(reflectors, task.column + row, task.second ? k_panel : 0, v);
    }
  });
}

/// Grid: batch x ranks blocks of k_panel_warps warps; any number of rows.
template <bool Cluster>
__global__ void __launch_bounds__(k_panel_warps * 32) factor_tall_panel(const PanelTask task) {
  PanelShared& shared = shared_as<PanelShared>();
  const int thread = static_cast<int>(threadIdx.x);
  Team team{thread % 32, thread / 32, k_panel_warps, Cluster ? cluster_rank() : 0,
            Cluster ? task.ranks : 1};
  const std::int64_t n = task.n;
  const std::int64_t matrix = static_cast<std::int64_t>(blockIdx.x) / team.ranks;
  if (!is_left_over(task.doubtful, matrix)) return;
  const std::int64_t corner = matrix * n * n + task.column * n + task.column;
  const int m = task.n - task.column;
  // Whole groups of 32 rows, so that the first warp of the first block holds every pivot.
  const int share = ((m + team.ranks - 1) / team.ranks + k_panel - 1) / k_panel * k_panel;
  const int begin = team.rank * share;
  const int end = begin + share < m ? begin + share : m;
  const TallRows rows{task.factor + corner, n, m < k_panel ? m : k_panel, begin, end, thread};

  if (team.holds_pivots()) shared.tau[team.lane] = 0;
  if constexpr (Cluster) cluster_barrier();
  ColumnScale scale;
  if (scale_tall<Cluster>(rows, task.source + corner, shared, team, scale)) {
    factor_tall<Cluster>(rows, shared, team);
  }
  finish_tall(rows, task, matrix, share_in_warp(shared, team, scale.down));
  if (team.holds_pivots() && team.lane < rows.width) {
    task.tau[matrix * n + task.column + team.lane] = shared.tau[team.lane];
  }
  if (task.keep_block) build_block_factor<Cluster>(task, matrix, begin, share, shared, team);
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_PANEL_TALL_CUH
