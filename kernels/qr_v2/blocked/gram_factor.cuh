// Householder's reflections of a panel of 64 columns, found from its Gram matrix and its top 64
// rows alone, in FP64; every block of a team computes them for itself.
//
// With G the Gram matrix of the current columns over the rows from j on, X their rows in the top
// and N the weights that express their tails in the tails of the original columns, step j is
//   beta = -sign(X_jj) sqrt(G_jj), d = X_jj - beta, tau = -d / beta,
//   R_jc = G_jc / beta, y_c = X_jc - R_jc          (y_c = tau v^T x_c)
//   X_ic -= X_ij y_c / d, N_ic -= N_ij y_c / d, G_ic -= R_ji R_jc,
// and column j of X and N, divided by d, is v in the top rows and the weights of v in the tail.
// What this loses where columns nearly depend on each other is measured by `find_doubt`.
#ifndef KBENCH_QR_BLOCKED_GRAM_FACTOR_CUH
#define KBENCH_QR_BLOCKED_GRAM_FACTOR_CUH

#include "gram_sums.cuh"

namespace blocked {

constexpr int k_tile_side = 16;  // threads form a square; each holds every 16th row and column

/// Cancellation that a column may suffer, as the ratio of the squared sizes of what was combined
/// and of what was left: 2^33 leaves tau with an error of about 2^-20.
constexpr double k_most_cancellation = 0x1p33;

/// A thread's elements (ty + 16 r, tx + 16 k) at [r][k]; `gram` and `weights` for r <= k only.
struct GramState {
  double gram[4][4], top[4][4], weights[4][4];
};

/// Without a branch, so that it is computed between the updates of the step before.
__device__ __forceinline__ GramPivot find_pivot(double square, double alpha) {
  const bool zero = square == 0;
  const double root_inverse = inverse_root(square);
  const double beta = zero ? alpha : -copysign(square * root_inverse, alpha);
  const double d = alpha - beta;
  return {beta, zero ? 0 : -copysign(root_inverse, alpha), d, zero ? 0 : inverse(d)};
}

/// Column of `weights` in shared memory: lanes that read a fragment of them meet no bank twice.
__device__ __forceinline__ int swizzled(int row, int column) {
  return column ^ ((row >> 2 & 1) * 2 | (row >> 3 & 1) * 8);
}

/// Hands row, column and pivot j = 16 Q + step to all threads.
template <int Q>
__device__ __forceinline__ void publish_step(const GramState& state, const GramPivot& pivot,
                                             GramShared& shared, int step, int tx, int ty) {
  auto& row = shared.row[step % 2];
  auto& column = shared.column[step % 2];
  if (ty == step) {
#pragma unroll
    for (int k = Q; k < 4; ++k) {
      row[0][tx + 16 * k] = state.gram[Q][k];
      row[1][tx + 16 * k] = state.top[Q][k];
    }
  }
  if (ty == step && tx == step) shared.pivot[step % 2] = pivot;
  if (tx == step) {
#pragma unroll
    for (int r = Q; r < 4; ++r) column[0][ty + 16 * r] = state.top[r][Q];
#pragma unroll
    for (int r = 0; r <= Q; ++r) column[1][ty + 16 * r] = state.weights[r][Q];
  }
}

/// Keeps what is final after step j: row j of R, column j of L and of the weights.
template <int Q>
__device__ __forceinline__ void keep_step(GramShared& shared, const GramPivot& pivot,
                                          const double (&r_c)[4], int step, int tx, int ty) {
  const int j = 16 * Q + step;
  const auto& column = shared.column[step % 2];
  if (ty == step) {
#pragma unroll
    for (int k = Q; k < 4; ++k) {
      const int c = tx + 16 * k;
      if (c >= j) shared.mixed[j][c] = c == j ? pivot.beta : r_c[k];
    }
  }
  if (tx == step) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int i = ty + 16 * r;
      if (r >= Q && i > j) shared.mixed[i][j] = column[0][i] * pivot.inverse;
      shared.weights[i][swizzled(i, j)] = r <= Q ? column[1][i] * pivot.inverse : 0;
    }
  }
  if (tx == 0 && ty == 0) shared.tau[j] = pivot.d == 0 ? 0 : -pivot.d * pivot.beta_inverse;
}

/// Columns 16 Q .. 16 Q + 15. One barrier a column: the copies of what is published alternate. A
/// thread's first element is updated first: if it is the next pivot, the chain of its root and
/// reciprocal runs beside the other updates. All threads compute one, which costs less than to ask.
template <int Q>
__device__ __forceinline__ void factor_columns(GramState& state, GramShared& shared, int tx,
                                               int ty) {
#pragma unroll
  for (int k = Q; k < 4; ++k) state.weights[Q][k] = k == Q && tx == ty ? 1 : 0;
  GramPivot next = find_pivot(state.gram[Q][Q], state.top[Q][Q]);
#pragma unroll 1
  for (int step = 0; step < k_tile_side; ++step) {
    const int j = 16 * Q + step;
    publish_step<Q>(state, next, shared, step, tx, ty);
    block_barrier();
    const auto& row = shared.row[step % 2];
    const auto& column = shared.column[step % 2];
    const GramPivot pivot = shared.pivot[step % 2];
    const bool zero = pivot.d == 0;
    double r_c[4], y[4];
#pragma unroll
    for (int k = Q; k < 4; ++k) {
      const int c = tx + 16 * k;
      r_c[k] = zero ? row[1][c] : row[0][c] * pivot.beta_inverse;
      y[k] = c > j ? (row[1][c] - r_c[k]) * pivot.inverse : 0;
    }
#pragma unroll
    for (int r = Q; r < 4; ++r) {
      const int i = ty + 16 * r;
      const double r_i = zero ? row[1][i] : row[0][i] * pivot.beta_inverse;
      const double x_i = i > j ? column[0][i] : 0;
#pragma unroll
      for (int k = Q; k < 4; ++k) {
        if (r <= k) state.gram[r][k] = fma(-r_i, r_c[k], state.gram[r][k]);
        state.top[r][k] = fma(-x_i, y[k], state.top[r][k]);
        if (r == Q && k == Q) next = find_pivot(state.gram[Q][Q], state.top[Q][Q]);
      }
    }
#pragma unroll
    for (int r = 0; r <= Q; ++r) {
      const double n_i = column[1][ty + 16 * r];
#pragma unroll
      for (int k = Q; k < 4; ++k) state.weights[r][k] = fma(-n_i, y[k], state.weights[r][k]);
    }
    keep_step<Q>(shared, pivot, r_c, step, tx, ty);
  }
}

/// A panel of zeros below its diagonal is its own R: H = I, as LAPACK has it.
__device__ __forceinline__ void keep_triangle(GramShared& shared, int thread) {
  for (int k = thread; k < k_block * k_block; k += k_gram_threads) {
    shared.weights[k / k_block][k % k_block] = 0;
  }
  if (thread < k_block) shared.tau[thread] = 0;
}

/// Whether some column's tail is left with too little of what was combined into it (or is not
/// finite): then sum_i (M_ij |p_i|)^2 tau_j^2 = sum_i (N_ij |p_i|)^2 / beta_j^2 is large.
__device__ __forceinline__ bool find_doubt(GramShared& shared, int thread) {
  const int j = thread % k_block, quarter = thread / k_block;
  double sum = 0;
  for (int i = quarter * 16; i < quarter * 16 + 16; ++i) {
    const double weight = shared.weights[i][swizzled(i, j)];
    sum = fma(weight * weight, shared.size[i], sum);
  }
  double* parts = &shared.row[0][0][0];
  block_barrier();  // the last step's row is read no more
  parts[thread] = sum;
  block_barrier();
  bool doubt = false;
  if (quarter == 0) {
    const double all = (parts[j] + parts[j + 64]) + (parts[j + 128] + parts[j + 192]);
    const double tau = shared.tau[j];
    doubt = tau == 0 ? shared.size[j] != 0 : !(tau * tau * all <= k_most_cancellation);
  }
  return block_any(doubt);
}

/// Keeps the panel's top rows until the state takes them up.
__device__ __forceinline__ void load_top(GramShared& shared, const float* panel, std::int64_t n,
                                         int thread) {
  for (int k = thread; k < k_block * k_block; k += k_gram_threads) {
    shared.mixed[k / k_block][k % k_block] = panel[k / k_block * n + k % k_block];
  }
}

/// From the Gram matrix and the top rows in `mixed` to R and L there, weights and tau; false if
/// the panel has to be factored from its columns instead. Called by all threads of the block.
__device__ __forceinline__ bool factor_gram(const double* gram, GramShared& shared, int thread) {
  const int tx = thread % k_tile_side, ty = thread / k_tile_side;
  if (gram[k_below] == 0) {
    keep_triangle(shared, thread);
    block_barrier();
    return true;
  }
  GramState state;
#pragma unroll
  for (int r = 0; r < 4; ++r) {
#pragma unroll
    for (int k = 0; k < 4; ++k) state.top[r][k] = shared.mixed[ty + 16 * r][tx + 16 * k];
#pragma unroll
    for (int k = r; k < 4; ++k) state.gram[r][k] = gram[gram_index(ty + 16 * r, tx + 16 * k)];
  }
  if (thread < k_block) shared.size[thread] = gram[gram_index(thread, thread)];
  factor_columns<0>(state, shared, tx, ty);
  factor_columns<1>(state, shared, tx, ty);
  factor_columns<2>(state, shared, tx, ty);
  factor_columns<3>(state, shared, tx, ty);
  block_barrier();
  return !find_doubt(shared, thread);
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_GRAM_FACTOR_CUH
