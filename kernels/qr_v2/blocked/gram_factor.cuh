// Householder's reflections of a panel of 64 columns, found from its Gram matrix and its top 64
// rows alone, in FP64; every block of a team computes them for itself.
//
// With G the Gram matrix of the current columns over the rows from j on, X their rows in the top
// and N the weights that express their tails in the tails of the original columns, step j is
//   beta = -sign(X_jj) sqrt(G_jj), d = X_jj - beta, tau = -d / beta,
//   R_jc = G_jc / beta, y_c = X_jc - R_jc          (y_c = tau v^T x_c)
//   X_ic -= X_ij y_c / d, N_ic -= N_ij y_c / d, G_ic -= R_ji R_jc.
// Over all steps that says: R = S C with C the Cholesky factor of G and S the signs; X = R + L Y
// with L unit lower and Y upper triangular, d on its diagonal; and the weights are M = Y^-1. C
// needs nothing of X. So some warps run through C by diagonal blocks of 16, and others follow one
// block behind them with L, Y and the blocks on M's diagonal. Beside its diagonal blocks C stays
// undivided by the roots of its pivots, U with C_jc = U_jc / sqrt(U_jj).
//
// A column that is zero from its row on has no C and leaves the panel to the exact way, as does
// what cancels too much where columns nearly depend on each other (`find_doubt`). Instructions that
// run once cost their fetch, so loops stay rolled: registers rotate by one element a turn.
#ifndef KBENCH_QR_BLOCKED_GRAM_FACTOR_CUH
#define KBENCH_QR_BLOCKED_GRAM_FACTOR_CUH

#include "gram_triangles.cuh"

namespace blocked {

/// Cancellation that a column may suffer, as the ratio of the squared sizes of what was combined
/// and of what was left: 2^33 leaves tau with an error of about 2^-20.
constexpr double k_most_cancellation = 0x1p33;

/// Half of the warps: G -= C^T C behind the block, on and above G's diagonal, by tiles of 16 x 8.
__device__ __forceinline__ void update_gram(GramShared& shared, int base, int warp, int warps,
                                            int lane) {
  const int line = lane / 4, inner = lane % 4, side = (k_block - base - k_side) / 8;
#pragma unroll 1
  for (int tile = warp; tile < side * side / 2; tile += warps) {
    const int above = (tile >= side) + (tile >= 2 * side);  // rows of tiles, at most three
    const int row = base + k_side + above * k_side + line;
    const int column = base + k_side + (tile - above * side) * 8;
    if (column + 8 <= row - line) continue;
    const auto at = [&](int i, int c) -> double& { return shared.weights[i][swizzled(i, c)]; };
    const auto sum_at = [&](int k) -> double& {
      return at(row + k / 2 * 8, column + 2 * inner + k % 2);
    };
    double sum[4] = {sum_at(0), sum_at(1), sum_at(2), sum_at(3)};
#pragma unroll
    for (int k = base; k < base + k_side; k += 8) {
      const int near = k + inner, far = near + 4;
      const double by[2] = {-shared.inverse_pivot[near], -shared.inverse_pivot[far]};
      multiply_add(sum,
                   {by[0] * at(near, row), by[0] * at(near, row + 8), by[1] * at(far, row),
                    by[1] * at(far, row + 8)},
                   {at(near, column + line), at(far, column + line)});
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) sum_at(k) = sum[k];
  }
}

/// Half of the warps: X -= L Y behind the block, by tiles of 16 x 8.
__device__ __forceinline__ void update_top(GramShared& shared, int base, int warp, int warps,
                                           int lane) {
  const int line = lane / 4, inner = lane % 4, side = (k_block - base - k_side) / 8;
#pragma unroll 1
  for (int tile = warp; tile < side * side / 2; tile += warps) {
    const int above = (tile >= side) + (tile >= 2 * side);  // rows of tiles, at most three
    const int row = base + k_side + above * k_side + line;
    const int column = base + k_side + (tile - above * side) * 8;
    const auto sum_at = [&](int k) -> double& {
      return shared.mixed[row + k / 2 * 8][column + 2 * inner + k % 2];
    };
    double sum[4] = {sum_at(0), sum_at(1), sum_at(2), sum_at(3)};
#pragma unroll
    for (int k = base; k < base + k_side; k += 8) {
      const int near = k + inner, far = near + 4;
      multiply_add(sum,
                   {-shared.mixed[row][near], -shared.mixed[row + 8][near], -shared.mixed[row][far],
                    -shared.mixed[row + 8][far]},
                   {shared.product[near][column + line], shared.product[far][column + line]});
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) sum_at(k) = sum[k];
  }
}

/// The blocks of `side` beside the diagonal of an upper triangle's inverse from those on it:
/// -I_1 Y_12 I_2. The product in between lies in `from` below its diagonal. `to(i, c)` is the
/// element of the inverse; `barrier` is that of the team's warps.
template <class To, class Barrier>
__device__ __forceinline__ void join_inverses(double (&from)[k_block][k_gram_pitch], const To& to,
                                              int side, const Team& team, const Barrier& barrier) {
  const int line = team.lane / 4, inner = team.lane % 4, tiles = side / 8;
  const auto each_tile = [&](const auto& work) {
#pragma unroll 1
    for (int t = team.warp; t < k_block / 2 / side * tiles * tiles; t += team.warps) {
      work(t / (tiles * tiles) * 2 * side, t / tiles % tiles * 8, t % tiles * 8);
    }
    barrier();
  };
  each_tile([&](int origin, int row, int column) {
    double sum[2] = {};
#pragma unroll 4
    for (int k = 0; k < column + 8; k += 4) {
      const int middle = origin + side + k + inner;
      multiply_add(sum, from[origin + row + line][middle],
                   to(middle, origin + side + column + line));
    }
    double* at = &from[origin + side + row + line][origin + column + 2 * inner];
    at[0] = sum[0], at[1] = sum[1];
  });
  each_tile([&](int origin, int row, int column) {
    double sum[2] = {};
    const int i = origin + row + line;
#pragma unroll 4
    for (int k = row; k < side; k += 4) {
      const int middle = k + inner;
      multiply_add(sum, -to(i, origin + middle),
                   from[origin + side + middle][origin + column + line]);
    }
    double* at = &to(i, origin + side + column + 2 * inner);
    at[0] = sum[0], at[1] = sum[1];
  });
}

/// A panel of zeros below its diagonal is its own R: H = I, as LAPACK has it.
__device__ __forceinline__ void keep_triangle(GramShared& shared, int thread, int threads) {
  for (int k = thread; k < k_block * k_block; k += threads) {
    shared.weights[k / k_block][k % k_block] = 0;
  }
  if (thread < k_block) shared.tau[thread] = 0;
}

/// Whether some column's tail is left with too little of what was combined into it (or is not
/// finite): then sum_i (M_ij |p_i|)^2 tau_j^2 = sum_i (N_ij |p_i|)^2 / beta_j^2 is large.
__device__ __forceinline__ bool find_doubt(GramShared& shared, int thread) {
  const int j = thread % k_block, quarter = thread / k_block;
  double sum = 0;
  if (quarter <=
      j / k_side) {  // so no quarter past the fourth; nothing lies below the diagonal blocks
#pragma unroll 4
    for (int i = quarter * k_side; i < quarter * k_side + k_side; ++i) {
      const double weight = shared.weights[i][swizzled(i, j)];
      sum = fma(weight * weight, shared.size[i], sum);
    }
  }
  double* parts = &shared.product[0][0];  // Y has been used
  if (quarter < 4) parts[thread] = sum;
  block_barrier();
  bool doubt = false;
  if (quarter == 0) {
    const double all = (parts[j] + parts[j + 64]) + (parts[j + 128] + parts[j + 192]);
    const double tau = shared.tau[j];
    doubt = !(tau * tau * all <= k_most_cancellation);
  }
  return block_any(doubt);
}

/// Keeps the panel's top rows in `mixed`; whether this thread saw one of their elements below the
/// diagonal that is not 0.
__device__ __forceinline__ bool load_top(GramShared& shared, const float* panel, std::int64_t n,
                                         int thread, int threads) {
  bool below = false;
#pragma unroll 4
  for (int k = thread; k < k_block * k_block; k += threads) {
    const float x = panel[k / k_block * n + k % k_block];
    below = below || (k / k_block > k % k_block && x != 0);
    shared.mixed[k / k_block][k % k_block] = x;
  }
  return below;
}

/// C in the diagonal block at `base`, L and Y in the one before it, and what lies beside and below
/// them. The two warps inside the blocks have, where there are more than eight, a quarter of the
/// multiprocessor each; those that follow share the other two.
__device__ __forceinline__ void factor_block(GramShared& shared, int base, const Team& team) {
  const int before = base - k_side, behind = base + k_side, columns = team.warps > 8 ? 10 : 4;
  if (base < k_block) {
    if (team.warp == 0) factor_cholesky(shared, base, team.lane);
    if (team.warp / 2 == 1) follow_cholesky(shared, base, behind + team.warp % 2 * 32 + team.lane);
  }
  if (before >= 0) {
    if (team.warp == 1) factor_triangles(shared, before, team.lane);
    if (team.warp / 2 == 3) follow_rows(shared, before, base + team.warp % 2 * 32 + team.lane);
    if (team.warp / 2 == columns / 2) {
      follow_columns(shared, before, before + team.warp % 2 * 32 + team.lane);
    }
  }
}

/// From the Gram matrix in `weights` and the top rows in `mixed` to R and L there, weights and tau;
/// false if the panel has to be factored from its columns instead. Called by all threads of the
/// block.
__device__ __forceinline__ bool factor_gram(GramShared& shared, const Team& team) {
  const int thread = team.warp * 32 + team.lane;
  if (shared.below == 0) {
    keep_triangle(shared, thread, team.warps * 32);
    block_barrier();
    return true;
  }
  const int half = team.warps / 2;
#pragma unroll 1
  for (int turn = 0; turn <= k_block / k_side; ++turn) {
    if (turn == 0 && thread / k_block == 2) {  // warps without work
      const int i = thread % k_block;
      shared.size[i] = shared.weights[i][swizzled(i, i)];
    }
    factor_block(shared, turn * k_side, team);
    block_barrier();
    if (thread < k_side * k_side) keep_diagonal(shared, turn * k_side, thread);
    if (team.warp < half && turn < k_block / k_side) {
      update_gram(shared, turn * k_side, team.warp, half, team.lane);
    } else if (team.warp >= half && turn > 0) {
      update_top(shared, turn * k_side - k_side, team.warp - half, half, team.lane);
    }
    block_barrier();
  }
  const auto weight = [&](int i, int c) -> double& { return shared.weights[i][swizzled(i, c)]; };
#pragma unroll 1
  for (int side = k_side; side < k_block; side *= 2) {
    join_inverses(shared.product, weight, side, team, block_barrier);
  }
  return !find_doubt(shared, thread);
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_GRAM_FACTOR_CUH
