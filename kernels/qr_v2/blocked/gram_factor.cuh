// Householder's reflections of a panel of 64 columns, found from its Gram matrix and its top 64
// rows alone, in FP64; every block of a team computes them for itself.
//
// With G the Gram matrix of the current columns over the rows from j on, X their rows in the top
// and N the weights that express their tails in the tails of the original columns, step j is
//   beta = -sign(X_jj) sqrt(G_jj), d = X_jj - beta, tau = -d / beta,
//   R_jc = G_jc / beta, y_c = X_jc - R_jc          (y_c = tau v^T x_c)
//   X_ic -= X_ij y_c / d, N_ic -= N_ij y_c / d, G_ic -= R_ji R_jc.
// Over all steps that says: R = S C with C the Cholesky factor of G and S the signs; X = R + L Y
// with L unit lower and Y upper triangular, d on its diagonal; and the weights are M = Y^-1. C needs
// nothing of X. So four warps run through C by diagonal blocks of 16, and the other four follow one
// block behind them with L, Y and the blocks on M's diagonal.
//
// A column that is zero from its row on has no C and leaves the panel to the exact way, as does
// what cancels too much where columns nearly depend on each other (`find_doubt`). Instructions that
// run once cost their fetch, so loops stay rolled: registers rotate by one element a turn.
#ifndef KBENCH_QR_BLOCKED_GRAM_FACTOR_CUH
#define KBENCH_QR_BLOCKED_GRAM_FACTOR_CUH

#include "gram_sums.cuh"

namespace blocked {

/// Cancellation that a column may suffer, as the ratio of the squared sizes of what was combined
/// and of what was left: 2^33 leaves tau with an error of about 2^-20.
constexpr double k_most_cancellation = 0x1p33;

/// How the 32 lanes of a warp hold a diagonal block: lane 16 h + c the rows 2 k + h of column c, at
/// [k] and, when two rows are done, one lower.
struct DiagonalLane {
  int column, half;
};
constexpr int k_half_side = k_side / 2;

__device__ __forceinline__ DiagonalLane diagonal_lane(int lane) {
  return {lane % k_side, lane / k_side};
}

/// One warp: rows base .. base + 15 of C inside their diagonal block. The steps divide by the
/// pivots, whose roots are taken at the end, all at once.
__device__ __forceinline__ void factor_cholesky(GramShared& shared, int base, int lane) {
  const auto [c, h] = diagonal_lane(lane);
  double g[k_half_side], own_pivot = 0;
#pragma unroll
  for (int k = 0; k < k_half_side; ++k) {
    const int row = base + 2 * k + h;
    g[k] = shared.weights[row][swizzled(row, base + c)];
  }
#pragma unroll 1
  for (int m = 0; m < k_half_side; ++m) {
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      const int j = 2 * m + odd;
      const double pivot = __shfl_sync(k_full_warp, g[0], odd * k_side + j);
      const double own = __shfl_sync(k_full_warp, g[0], odd * k_side + c);
      if (h == odd && c >= 2 * m) shared.by_c[j][c % 2][c / 2 - m] = own;
      own_pivot = c == j ? pivot : own_pivot;
      warp_barrier();
      double row[k_half_side];
#pragma unroll
      for (int k = 0; k < k_half_side; ++k) row[k] = shared.by_c[j][h][k];
      const double scaled = quotient(own, pivot);
#pragma unroll
      for (int k = 0; k < k_half_side; ++k) g[k] = fma(-row[k], scaled, g[k]);
    }
#pragma unroll
    for (int k = 0; k + 1 < k_half_side; ++k) g[k] = g[k + 1];
  }
  const double root_inverse = inverse_root(own_pivot);
  if (h == 0) {
    shared.inverse_c[base + c] = root_inverse;
    shared.inverse_pivot[base + c] = root_inverse * root_inverse;
  }
  warp_barrier();
#pragma unroll
  for (int k = 0; k < k_half_side; ++k) {
    const int j = 2 * k + h, row = base + j;
    const double pivot = __shfl_sync(k_full_warp, own_pivot, h * k_side + j);
    const double inverse_c = __shfl_sync(k_full_warp, root_inverse, h * k_side + j);
    if (c >= j) {
      shared.weights[row][swizzled(row, base + c)] =
          inverse_c * (c == j ? pivot : shared.by_c[j][c % 2][c / 2 - j / 2]);
    }
  }
}

/// One warp: rows base .. base + 15 of R and Y inside their diagonal block, and what L's columns are
/// there before they are divided by Y_jj.
__device__ __forceinline__ void factor_triangles(GramShared& shared, int base, int lane) {
  const auto [c, h] = diagonal_lane(lane);
  const auto c_at = [&shared, base](int j, int i) {
    return shared.weights[base + j][swizzled(base + j, base + i)];
  };
  double x[k_half_side], c_c[2], c_j[2], own_d = 0;
#pragma unroll
  for (int k = 0; k < k_half_side; ++k) x[k] = shared.mixed[base + 2 * k + h][base + c];
#pragma unroll
  for (int odd = 0; odd < 2; ++odd) c_c[odd] = c_at(odd, c), c_j[odd] = c_at(odd, odd);
  warp_barrier();
#pragma unroll 1
  for (int m = 0; m < k_half_side; ++m) {
    const int after = m + 1 < k_half_side ? 2 * m + 2 : 0;
    double c_c_after[2], c_j_after[2];
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      c_c_after[odd] = c_at(after + odd, c), c_j_after[odd] = c_at(after + odd, after + odd);
    }
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      const int j = 2 * m + odd, row = base + j;
      const double alpha = __shfl_sync(k_full_warp, x[0], odd * k_side + j);
      const double d = alpha + copysign(c_j[odd], alpha);
      const double r_c = -copysign(1.0, alpha) * c_c[odd];
      const double y_c = __shfl_sync(k_full_warp, x[0], odd * k_side + c) - r_c;
      const double scaled = quotient(y_c, d);
      own_d = c == j ? d : own_d;
      if (c == j) {
#pragma unroll
        for (int k = 0; k < k_half_side; ++k) shared.by_l[j][h][k] = x[k];
      }
      warp_barrier();
      double column[k_half_side];
#pragma unroll
      for (int k = 0; k < k_half_side; ++k) column[k] = shared.by_l[j][h][k];
#pragma unroll
      for (int k = 0; k < k_half_side; ++k) x[k] = fma(-column[k], scaled, x[k]);
      if (h == odd && c >= j) {
        shared.mixed[row][base + c] = r_c;
        if (c > j) shared.by_y[j][c % 2][c / 2 - m] = y_c;
        if (c == j) {
          shared.sign[row] = -copysign(1.0, alpha);
          shared.tau[row] = d * copysign(shared.inverse_c[row], alpha);
        }
      }
    }
#pragma unroll
    for (int k = 0; k + 1 < k_half_side; ++k) x[k] = x[k + 1];
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) c_c[odd] = c_c_after[odd], c_j[odd] = c_j_after[odd];
  }
  if (h == 0) shared.inverse[base + c] = quotient(1, own_d);
}

/// One thread: 16 elements of a right-hand side x through the triangle of `by`. What `read(j)` reads
/// `finish(j, x_j, read)` uses; it stores element j and returns what the later ones are reduced by.
template <class Read, class Finish>
__device__ __forceinline__ void substitute(double (&x)[k_side], const Substitution& by,
                                           const Read& read, const Finish& finish) {
#pragma unroll 1
  for (int m = 0; m < k_half_side; ++m) {
    double coefficients[k_side];  // of x[0] .. x[15]; before anything is stored
    const auto take = [&](int j) {
#pragma unroll
      for (int k = 0; k < k_side; ++k) coefficients[k] = by[j][k % 2][k / 2];
    };
    take(2 * m);
    const auto even = read(2 * m), odd = read(2 * m + 1);
    const double first = finish(2 * m, x[0], even);
#pragma unroll
    for (int k = 1; k < k_side; ++k) x[k] = fma(-coefficients[k], first, x[k]);
    take(2 * m + 1);
    const double second = finish(2 * m + 1, x[1], odd);
#pragma unroll
    for (int k = 2; k < k_side; ++k) x[k - 2] = fma(-coefficients[k], second, x[k]);
  }
}

/// One thread: rows base .. base + 15 of C in a column c to the right of the block.
__device__ __forceinline__ void solve_cholesky(GramShared& shared, int base, int c) {
  double x[k_side];
#pragma unroll
  for (int j = 0; j < k_side; ++j) x[j] = shared.weights[base + j][swizzled(base + j, c)];
  struct Inverses {
    double root, pivot;
  };
  substitute(
      x, shared.by_c,
      [&](int j) { return Inverses{shared.inverse_c[base + j], shared.inverse_pivot[base + j]}; },
      [&](int j, double x_j, const Inverses& inverse) {
        shared.weights[base + j][swizzled(base + j, c)] = x_j * inverse.root;
        return x_j * inverse.pivot;
      });
}

/// One thread: rows base .. base + 15 of R and Y in a column c to the right of the block.
__device__ __forceinline__ void solve_rows(GramShared& shared, int base, int c) {
  struct Row {
    double r, inverse;
  };
  double x[k_side];
#pragma unroll
  for (int j = 0; j < k_side; ++j) x[j] = shared.mixed[base + j][c];
  substitute(
      x, shared.by_l,
      [&](int j) {
        const int row = base + j;
        return Row{shared.sign[row] * shared.weights[row][swizzled(row, c)], shared.inverse[row]};
      },
      [&](int j, double x_j, const Row& row) {
        const double y = x_j - row.r;
        shared.mixed[base + j][c] = row.r;
        shared.product[base + j][c] = y;
        return y * row.inverse;
      });
}

/// One thread: columns base .. base + 15 of L in a row i below the block; or, for i inside it, row i
/// of the inverse of the diagonal block of Y, in the place of C's.
__device__ __forceinline__ void solve_columns(GramShared& shared, int base, int i) {
  const bool below = i >= base + k_side;
  double x[k_side];
#pragma unroll
  for (int j = 0; j < k_side; ++j) x[j] = below ? shared.mixed[i][base + j] : i == base + j;
  substitute(
      x, shared.by_y, [&](int j) { return shared.inverse[base + j]; },
      [&](int j, double x_j, double inverse) {
        double* to = below ? &shared.mixed[i][base + j] : &shared.weights[i][swizzled(i, base + j)];
        return *to = x_j * inverse;
      });
}

/// Two warps: L inside the diagonal block at `base`, into its place.
__device__ __forceinline__ void keep_columns(GramShared& shared, int base, int thread) {
#pragma unroll
  for (int k = thread; k < k_side * k_side; k += 64) {
    const int i = k / k_side, j = k % k_side;
    if (i > j) {
      shared.mixed[base + i][base + j] = shared.by_l[j][i % 2][i / 2 - j / 2] * shared.inverse[base + j];
    }
  }
}

/// Four warps: G -= C^T C behind the block, on and above G's diagonal, by tiles of 16 x 8.
__device__ __forceinline__ void update_gram(GramShared& shared, int base, int warp, int lane) {
  const int line = lane / 4, inner = lane % 4, side = (k_block - base - k_side) / 8;
#pragma unroll 1
  for (int tile = warp; tile < side * side / 2; tile += 4) {
    const int row = base + k_side + tile / side * k_side + line;
    const int column = base + k_side + tile % side * 8;
    if (column + 8 <= row - line) continue;
    const auto at = [&](int i, int c) -> double& { return shared.weights[i][swizzled(i, c)]; };
    const auto sum_at = [&](int k) -> double& {
      return at(row + k / 2 * 8, column + 2 * inner + k % 2);
    };
    double sum[4] = {sum_at(0), sum_at(1), sum_at(2), sum_at(3)};
#pragma unroll
    for (int k = base; k < base + k_side; k += 8) {
      const int near = k + inner, far = near + 4;
      multiply_add(sum, {-at(near, row), -at(near, row + 8), -at(far, row), -at(far, row + 8)},
                   {at(near, column + line), at(far, column + line)});
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) sum_at(k) = sum[k];
  }
}

/// Four warps: X -= L Y behind the block, by tiles of 16 x 8.
__device__ __forceinline__ void update_top(GramShared& shared, int base, int warp, int lane) {
  const int line = lane / 4, inner = lane % 4, side = (k_block - base - k_side) / 8;
#pragma unroll 1
  for (int tile = warp; tile < side * side / 2; tile += 4) {
    const int row = base + k_side + tile / side * k_side + line;
    const int column = base + k_side + tile % side * 8;
    const auto sum_at = [&](int k) -> double& {
      return shared.mixed[row + k / 2 * 8][column + 2 * inner + k % 2];
    };
    double sum[4] = {sum_at(0), sum_at(1), sum_at(2), sum_at(3)};
#pragma unroll
    for (int k = base; k < base + k_side; k += 8) {
      const int near = k + inner, far = near + 4;
      multiply_add(sum,
                   {-shared.mixed[row][near], -shared.mixed[row + 8][near],
                    -shared.mixed[row][far], -shared.mixed[row + 8][far]},
                   {shared.product[near][column + line], shared.product[far][column + line]});
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) sum_at(k) = sum[k];
  }
}

/// The blocks of `side` beside the diagonal of an upper triangle's inverse from those on it:
/// -I_1 Y_12 I_2. The product in between lies in `from` below its diagonal. `to(i, c)` is the
/// element of the inverse.
template <class To>
__device__ __forceinline__ void join_inverses(double (&from)[k_block][k_gram_pitch], const To& to,
                                              int side, const Team& team) {
  const int line = team.lane / 4, inner = team.lane % 4, tiles = side / 8;
  const auto each_tile = [&](const auto& work) {
#pragma unroll 1
    for (int t = team.warp; t < k_block / 2 / side * tiles * tiles; t += team.warps) {
      work(t / (tiles * tiles) * 2 * side, t / tiles % tiles * 8, t % tiles * 8);
    }
    block_barrier();
  };
  each_tile([&](int origin, int row, int column) {
    double sum[2] = {};
#pragma unroll 4
    for (int k = 0; k < column + 8; k += 4) {
      const int middle = origin + side + k + inner;
      multiply_add(sum, from[origin + row + line][middle], to(middle, origin + side + column + line));
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
  if (quarter <= j / k_side) {  // so no quarter past the fourth; nothing lies below the diagonal blocks
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

/// Keeps the panel's top rows in `mixed`.
__device__ __forceinline__ void load_top(GramShared& shared, const float* panel, std::int64_t n,
                                         int thread, int threads) {
#pragma unroll 4
  for (int k = thread; k < k_block * k_block; k += threads) {
    shared.mixed[k / k_block][k % k_block] = panel[k / k_block * n + k % k_block];
  }
}

/// The Gram matrix into `weights`, on and above the diagonal blocks, and its diagonal.
__device__ __forceinline__ void take_gram(const double* gram, GramShared& shared,
                                          const Team& team) {
#pragma unroll 1
  for (int tile = team.warp; tile < k_gram_tiles; tile += team.warps) {
    int second = tile, first = 0;
    for (; second >= 8 - first; ++first) second -= 8 - first;
    second += first;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const double value = gram[tile * 64 + 2 * team.lane + e];
      const int i = team.lane / 4 * 8 + first, c = (team.lane % 4 * 2 + e) * 8 + second;
      if (i / k_side <= c / k_side) shared.weights[i][swizzled(i, c)] = value;
      if (i / k_side >= c / k_side && first < second) shared.weights[c][swizzled(c, i)] = value;
      if (i == c) shared.size[i] = value;
    }
  }
}

/// From the Gram matrix and the top rows in `mixed` to R and L there, weights and tau; false if
/// the panel has to be factored from its columns instead. Called by all threads of the block;
/// `gram` is used up.
__device__ __forceinline__ bool factor_gram(const double* gram, GramShared& shared,
                                            const Team& team) {
  const int thread = team.warp * 32 + team.lane;
  if (gram[k_below] == 0) {
    keep_triangle(shared, thread, team.warps * 32);
    block_barrier();
    return true;
  }
  take_gram(gram, shared, team);
  block_barrier();
  const bool first = team.warp < 4, second = team.warp / 4 == 1;  // the warps on C, on L and Y
  const int member = thread % 128;
#pragma unroll 1
  for (int turn = 0; turn <= k_block / k_side; ++turn) {
    const int base = (first ? turn : turn - 1) * k_side, behind = base + k_side;
    const bool works = team.warp < 8 && base >= 0 && base < k_block;
    if (works && team.warp == 0) factor_cholesky(shared, base, team.lane);
    if (works && team.warp == 4) factor_triangles(shared, base, team.lane);
    block_barrier();
    if (works && first && behind + member < k_block) {
      solve_cholesky(shared, base, behind + member);
    }
    if (turn > 0 && team.warp / 2 == 1) keep_columns(shared, base - k_side, thread - 64);
    if (works && second && member < k_block) {
      if (behind + member < k_block) solve_rows(shared, base, behind + member);
    } else if (works && second && base + member - k_block < k_block) {
      solve_columns(shared, base, base + member - k_block);
    }
    block_barrier();
    if (works && first) update_gram(shared, base, team.warp, team.lane);
    if (works && second) update_top(shared, base, team.warp - 4, team.lane);
    block_barrier();
  }
  const auto weight = [&](int i, int c) -> double& { return shared.weights[i][swizzled(i, c)]; };
#pragma unroll 1
  for (int side = k_side; side < k_block; side *= 2) {
    join_inverses(shared.product, weight, side, team);
  }
  return !find_doubt(shared, thread);
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_GRAM_FACTOR_CUH
