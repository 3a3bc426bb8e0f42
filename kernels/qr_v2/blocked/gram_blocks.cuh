// The same reflections as gram_factor.cuh, 16 columns at a time: one warp takes a diagonal block
// through its 16 steps in registers, and the whole block only solves and multiplies with it.
//
// Over all steps the recurrences say X = R + L Y, with R the Cholesky factor of G (its signs taken
// from the pivots of X), L unit lower and Y upper triangular with the d on its diagonal; the
// weights are M = Y^-1. So 64 columns need 13 barriers before M, where a step a column needs 64.
// A zero pivot leaves its row of X in R, a zero row in Y and zero columns in L and M.
#ifndef KBENCH_QR_BLOCKED_GRAM_BLOCKS_CUH
#define KBENCH_QR_BLOCKED_GRAM_BLOCKS_CUH

#include "gram_factor.cuh"

namespace blocked {

constexpr int k_side = 16;  // columns of a diagonal block

/// One warp: steps base .. base + 15 inside the diagonal block. Lane c < 16 holds column c of G,
/// lane 16 + c column c of X; both are updated by col_i -= a_i b, where a is row j of R or column j
/// of X. The next pivot is begun before the rest of a step, so that the two overlap.
__device__ __forceinline__ void factor_diagonal(GramShared& shared, int base, int lane) {
  const int c = lane % k_side;
  const bool top = lane >= k_side;
  double column[k_side];
#pragma unroll
  for (int i = 0; i < k_side; ++i) {
    column[i] = top ? shared.mixed[base + i][base + c]
                    : shared.weights[base + i][swizzled(base + i, base + c)];
  }
  GramPivot own{};
  GramPivot next = find_pivot(__shfl_sync(k_full_warp, column[0], 0),
                              __shfl_sync(k_full_warp, column[0], k_side));
#pragma unroll
  for (int j = 0; j < k_side; ++j) {
    const GramPivot pivot = next;
    const double other = __shfl_xor_sync(k_full_warp, column[j], k_side);
    const double x = top ? column[j] : other;
    const double r = pivot.d == 0 ? x : (top ? other : column[j]) * pivot.beta_inverse;
    const double y = x - r;
    const double b = c > j ? top ? y * pivot.inverse : r : 0;
#pragma unroll
    for (int i = j + 1; i < k_side; ++i) {
      const double a = __shfl_sync(k_full_warp, top ? column[i] : r, top ? k_side + j : i);
      column[i] = fma(-a, b, column[i]);
      if (i == j + 1) {
        next = find_pivot(__shfl_sync(k_full_warp, column[i], i),
                          __shfl_sync(k_full_warp, column[i], k_side + i));
      }
    }
    if (c > j) column[j] = top ? y : r;
    if (c == j) own = pivot, column[j] = top ? pivot.d : pivot.beta;
  }
#pragma unroll
  for (int i = 0; i < k_side; ++i) {
    if (i <= c) (top ? shared.product : shared.mixed)[base + i][base + c] = column[i];
    if (top && i > c) shared.mixed[base + i][base + c] = column[i] * own.inverse;
  }
  if (!top) {
    shared.beta_inverse[base + c] = own.beta_inverse;
    shared.inverse[base + c] = own.inverse;
    shared.tau[base + c] = own.d == 0 ? 0 : -own.d * own.beta_inverse;
  }
}

/// One thread: rows base .. base + 15 of R and Y in a column c to the right of the block.
__device__ __forceinline__ void solve_rows(GramShared& shared, int base, int c) {
  double r[k_side], y[k_side];
#pragma unroll
  for (int j = 0; j < k_side; ++j) {
    r[j] = shared.weights[base + j][swizzled(base + j, c)];
    y[j] = shared.mixed[base + j][c];
  }
#pragma unroll
  for (int j = 0; j < k_side; ++j) {
    const bool zero = shared.inverse[base + j] == 0;
    r[j] = zero ? y[j] : r[j] * shared.beta_inverse[base + j];
    y[j] -= r[j];
#pragma unroll
    for (int i = j + 1; i < k_side; ++i) {
      r[i] = fma(-shared.mixed[base + j][base + i], r[j], r[i]);
      y[i] = fma(-shared.mixed[base + i][base + j], y[j], y[i]);
    }
  }
#pragma unroll
  for (int j = 0; j < k_side; ++j) {
    shared.mixed[base + j][c] = r[j];
    shared.product[base + j][c] = y[j];
  }
}

/// One thread: columns base .. base + 15 of L in a row i below the block.
__device__ __forceinline__ void solve_columns(GramShared& shared, int base, int i) {
  double x[k_side];
#pragma unroll
  for (int j = 0; j < k_side; ++j) x[j] = shared.mixed[i][base + j];
#pragma unroll
  for (int j = 0; j < k_side; ++j) {
    x[j] *= shared.inverse[base + j];
#pragma unroll
    for (int k = j + 1; k < k_side; ++k) {
      x[k] = fma(-x[j], shared.product[base + j][base + k], x[k]);
    }
  }
#pragma unroll
  for (int j = 0; j < k_side; ++j) shared.mixed[i][base + j] = x[j];
}

/// One thread: column c of the inverse of the diagonal block of Y, in the place of G's.
__device__ __forceinline__ void invert_diagonal(GramShared& shared, int base, int c) {
  double x[k_side];
#pragma unroll
  for (int i = 0; i < k_side; ++i) x[i] = i == c ? 1 : 0;
#pragma unroll
  for (int i = k_side - 1; i >= 0; --i) {
    x[i] *= shared.inverse[base + i];
#pragma unroll
    for (int k = 0; k < i; ++k) x[k] = fma(-shared.product[base + k][base + i], x[i], x[k]);
  }
#pragma unroll
  for (int i = 0; i < k_side; ++i) {
    shared.weights[base + i][swizzled(base + i, base + c)] = x[i];
  }
}

/// X -= L Y and G -= R^T R behind the block, by tiles of 8 x 8; G on and above its diagonal blocks.
__device__ __forceinline__ void update_behind(GramShared& shared, int base, const Team& team) {
  const int line = team.lane / 4, inner = team.lane % 4, side = (k_block - base - k_side) / 8;
  for (int tile = team.warp; tile < side * side; tile += k_gram_warps) {
    const int row = base + k_side + tile / side * 8, column = base + k_side + tile % side * 8;
    double* x = &shared.mixed[row + line][column + 2 * inner];
    double* g = &shared.weights[row + line][swizzled(row + line, column + 2 * inner)];
    double x_sum[2] = {x[0], x[1]}, g_sum[2] = {g[0], g[1]};
#pragma unroll
    for (int k = 0; k < k_side; k += 4) {
      const int middle = base + k + inner;
      multiply_add(x_sum, -shared.mixed[row + line][middle], shared.product[middle][column + line]);
      multiply_add(g_sum, -shared.mixed[middle][row + line], shared.mixed[middle][column + line]);
    }
    x[0] = x_sum[0], x[1] = x_sum[1];
    if (row / k_side <= column / k_side) g[0] = g_sum[0], g[1] = g_sum[1];
  }
}

/// M's blocks of `side` beside its diagonal, from those on it: -M_1 Y_12 M_2. The product in
/// between lies where Y has no elements.
template <int Side>
__device__ __forceinline__ void join_inverses(GramShared& shared, const Team& team) {
  constexpr int tiles = Side / 8;
  const int line = team.lane / 4, inner = team.lane % 4;
  const auto each_tile = [&](const auto& work) {
    for (int t = team.warp; t < k_block / (2 * Side) * tiles * tiles; t += k_gram_warps) {
      work(t / (tiles * tiles) * 2 * Side, t / tiles % tiles * 8, t % tiles * 8);
    }
  };
  each_tile([&](int origin, int row, int column) {
    double sum[2] = {};
    for (int k = 0; k < column + 8; k += 4) {
      const int middle = origin + Side + k + inner;
      multiply_add(sum, shared.product[origin + row + line][middle],
                   shared.weights[middle][swizzled(middle, origin + Side + column + line)]);
    }
    double* to = &shared.product[origin + Side + row + line][origin + column + 2 * inner];
    to[0] = sum[0], to[1] = sum[1];
  });
  block_barrier();
  each_tile([&](int origin, int row, int column) {
    double sum[2] = {};
    const int i = origin + row + line;
    for (int k = row; k < Side; k += 4) {
      const int middle = k + inner;
      multiply_add(sum, -shared.weights[i][swizzled(i, origin + middle)],
                   shared.product[origin + Side + middle][origin + column + line]);
    }
    double* to = &shared.weights[i][swizzled(i, origin + Side + column + 2 * inner)];
    to[0] = sum[0], to[1] = sum[1];
  });
  block_barrier();
}

/// What factor_gram does, by blocks. `gram` is used up: Y takes its place.
__device__ __forceinline__ bool factor_gram_blocks(const double* gram, GramShared& shared,
                                                   const Team& team) {
  const int thread = team.warp * 32 + team.lane;
  if (gram[k_below] == 0) {
    keep_triangle(shared, thread);
    block_barrier();
    return true;
  }
  for (int k = thread; k < k_block * k_block; k += k_gram_threads) {
    const int i = k / k_block, c = k % k_block;
    shared.weights[i][swizzled(i, c)] = i / k_side <= c / k_side ? gram[gram_index(i, c)] : 0;
  }
  if (thread < k_block) shared.size[thread] = gram[gram_index(thread, thread)];
  block_barrier();
#pragma unroll 1
  for (int base = 0; base < k_block; base += k_side) {
    if (team.warp == 0) factor_diagonal(shared, base, team.lane);
    block_barrier();
    const int behind = base + k_side + thread % k_block;  // two warps each
    if (team.warp < 2 && behind < k_block) solve_rows(shared, base, behind);
    if (team.warp / 2 == 1 && behind < k_block) solve_columns(shared, base, behind);
    if (team.warp == 4 && team.lane < k_side) invert_diagonal(shared, base, team.lane);
    block_barrier();
    update_behind(shared, base, team);
    block_barrier();
  }
  join_inverses<k_side>(shared, team);
  join_inverses<2 * k_side>(shared, team);
  return !find_doubt(shared, thread);
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_GRAM_BLOCKS_CUH
