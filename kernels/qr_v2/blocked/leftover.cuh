// What the Gram panels leave over: a block of 64 columns of one matrix as two exact panels, the
// first applied to the second in between, all in one launch. A matrix that is not left over costs
// its blocks one look at a flag.
#ifndef KBENCH_QR_BLOCKED_LEFTOVER_CUH
#define KBENCH_QR_BLOCKED_LEFTOVER_CUH

#include "apply.cuh"
#include "panel.cuh"

namespace blocked {

/// The first of the two panels, and the strip of the other, shared by the same blocks.
struct LeftoverTask {
  PanelTask panel;
  ApplyTask apply;
};

constexpr int k_leftover_rows = 4;  // of one thread

/// Grid: batch x ranks blocks. Rows: m = n - column <= ranks x 512.
template <bool Cluster, bool Vector>
__global__ void __launch_bounds__(k_panel_warps * 32, 2) factor_leftover(const LeftoverTask task) {
  Team team = make_team<k_panel_warps, Cluster>(task.panel);
  const std::int64_t matrix = static_cast<std::int64_t>(blockIdx.x) / team.ranks;
  if (!is_left_over(task.panel.doubtful, matrix)) return;
#pragma unroll 1
  for (int half = 0; half < 2; ++half) {
    PanelTask panel = task.panel;
    panel.column += half * k_panel;
    panel.second = half == 1;
    if (half == 1) panel.source = panel.factor;
    factor_rows<k_panel_warps, k_leftover_rows, Cluster>(panel, matrix, shared_as<PanelShared>(),
                                                         team);
    team_barrier<Cluster>();
    if (half == 1) break;
    apply_strip<k_panel, 1, 4, Vector, false>(task.apply, matrix, 0, team.rank);
    team_barrier<Cluster>();
  }
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_LEFTOVER_CUH
