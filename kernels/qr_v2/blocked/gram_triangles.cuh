// The triangles of one diagonal block of 16 columns of a Gram panel: C, R, L and Y inside the block
// by one warp each; what lies beside and below it follows four columns behind by substitution, a
// thread to each column or row.
//
// A step is a chain of FP64 operations that nothing hides, so what is not needed for the next pivot
// is kept out of it: rows go through shared memory beside the division, and roots, R, L and tau are
// found for all 16 columns once they are done. gram_factor.cuh says what the letters stand for.
#ifndef KBENCH_QR_BLOCKED_GRAM_TRIANGLES_CUH
#define KBENCH_QR_BLOCKED_GRAM_TRIANGLES_CUH

#include "gram_sums.cuh"

namespace blocked {

/// How the 32 lanes of a warp hold a diagonal block: lane 16 h + c the rows 2 k + h of column c, at
/// [k] and, when two rows are done, one lower.
struct DiagonalLane {
  int column, half;
};
constexpr int k_half_side = k_side / 2;

__device__ __forceinline__ DiagonalLane diagonal_lane(int lane) {
  return {lane % k_side, lane / k_side};
}

/// After columns 2 m and 2 m + 1 of a diagonal block.
__device__ __forceinline__ void tell_columns(Message (&told)[k_told], int m) {
  constexpr int turns = k_told_columns / 2;
  if (m % turns == turns - 1) tell(told[m / turns]);
}
/// Before columns 2 m and 2 m + 1 of the diagonal block at `base`.
__device__ __forceinline__ void await_columns(Message (&told)[k_told], int base, int m) {
  constexpr int turns = k_told_columns / 2;
  if (m % turns == 0) wait_until_told(told[m / turns], base / k_side);
}

/// The diagonal block of C that `factor_triangles` works with, whole: below the diagonal blocks
/// `weights` is free.
__device__ __forceinline__ double* kept_diagonal(GramShared& shared, int row) {
  return &shared.weights[k_block - k_side + row][0];
}

/// One warp: rows base .. base + 15 of C inside their diagonal block, not yet divided by the roots
/// of the pivots.
__device__ __forceinline__ void factor_cholesky(GramShared& shared, int base, int lane) {
  const auto [c, h] = diagonal_lane(lane);
  double g[k_half_side];
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
      warp_barrier();
      double row[k_half_side];
#pragma unroll
      for (int k = 0; k < k_half_side; ++k) row[k] = shared.by_c[j][h][k];
      const double scaled = quotient(own, pivot);
#pragma unroll
      for (int k = 0; k < k_half_side; ++k) g[k] = fma(-row[k], scaled, g[k]);
      const double inverse = quotient(1, pivot);
      if (lane == 0) shared.inverse_pivot[base + j] = inverse;
    }
    tell_columns(shared.c_told, m);
#pragma unroll
    for (int k = 0; k + 1 < k_half_side; ++k) g[k] = g[k + 1];
  }
}

/// One warp: rows base .. base + 15 of Y inside their diagonal block, and what L's columns are
/// there before they are divided by Y_jj.
__device__ __forceinline__ void factor_triangles(GramShared& shared, int base, int lane) {
  const auto [c, h] = diagonal_lane(lane);
  double x[k_half_side];
#pragma unroll
  for (int k = 0; k < k_half_side; ++k) x[k] = shared.mixed[base + 2 * k + h][base + c];
#pragma unroll 1
  for (int m = 0; m < k_half_side; ++m) {
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      const int j = 2 * m + odd;
      const double c_c = kept_diagonal(shared, j)[c], c_j = kept_diagonal(shared, j)[j];
      const double alpha = __shfl_sync(k_full_warp, x[0], odd * k_side + j);
      const double x_c = __shfl_sync(k_full_warp, x[0], odd * k_side + c);
      if (c == j) {
#pragma unroll
        for (int k = 0; k < k_half_side; ++k) shared.by_l[j][h][k] = x[k];
      }
      warp_barrier();
      double column[k_half_side];
#pragma unroll
      for (int k = 0; k < k_half_side; ++k) column[k] = shared.by_l[j][h][k];
      const double d = alpha + copysign(c_j, alpha);
      const double y_c = fma(copysign(1.0, alpha), c_c, x_c);  // R_jc is minus the product
      const double scaled = quotient(y_c, d);
#pragma unroll
      for (int k = 0; k < k_half_side; ++k) x[k] = fma(-column[k], scaled, x[k]);
      if (h == odd && c > j) shared.by_y[j][c % 2][c / 2 - m] = y_c;
      const double inverse = quotient(1, d);
      if (lane == 0) shared.inverse[base + j] = inverse;
    }
    tell_columns(shared.l_told, m);
#pragma unroll
    for (int k = 0; k + 1 < k_half_side; ++k) x[k] = x[k + 1];
  }
}

/// One thread: 16 elements of a right-hand side x through the triangle of `by`, each as soon as
/// `await(m)` lets it pass to columns 2 m and 2 m + 1. What `read(j)` reads `finish(j, x_j, read)`
/// uses; it stores element j and returns what the later ones are reduced by.
template <class Await, class Read, class Finish>
__device__ __forceinline__ void substitute(double (&x)[k_side], const Substitution& by,
                                           const Await& await, const Read& read,
                                           const Finish& finish) {
#pragma unroll 1
  for (int m = 0; m < k_half_side; ++m) {
    await(m);
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

/// One thread: rows base .. base + 15 of C, not yet divided by the roots of the pivots, in a column
/// c to the right of the block; beyond the matrix it only keeps step.
__device__ __forceinline__ void follow_cholesky(GramShared& shared, int base, int c) {
  const bool works = c < k_block;
  double x[k_side];
#pragma unroll
  for (int j = 0; j < k_side; ++j) {
    x[j] = works ? shared.weights[base + j][swizzled(base + j, c)] : 0;
  }
  substitute(
      x, shared.by_c, [&](int m) { await_columns(shared.c_told, base, m); },
      [&](int j) { return shared.inverse_pivot[base + j]; },
      [&](int j, double x_j, double inverse) {
        if (works) shared.weights[base + j][swizzled(base + j, c)] = x_j;
        return x_j * inverse;
      });
}

/// One thread: rows base .. base + 15 of R and Y in a column c to the right of the block; beyond
/// the matrix it only keeps step.
__device__ __forceinline__ void follow_rows(GramShared& shared, int base, int c) {
  const bool works = c < k_block;
  struct Row {
    double r, inverse;
  };
  double x[k_side];
#pragma unroll
  for (int j = 0; j < k_side; ++j) x[j] = works ? shared.mixed[base + j][c] : 0;
  substitute(
      x, shared.by_l, [&](int m) { await_columns(shared.l_told, base, m); },
      [&](int j) {
        const int row = base + j;
        const double unscaled = works ? shared.weights[row][swizzled(row, c)] : 0;
        const double inverse = shared.inverse[row];
        return Row{copysign(shared.inverse_c[row], -inverse) * unscaled, inverse};
      },
      [&](int j, double x_j, const Row& row) {
        const double y = x_j - row.r;
        if (works) {
          shared.mixed[base + j][c] = row.r;
          shared.product[base + j][c] = y;
        }
        return y * row.inverse;
      });
}

/// One thread: columns base .. base + 15 of L in a row i below the block; or, for i inside it, row
/// i of the inverse of the diagonal block of Y, in the place of C's; beyond the matrix it only
/// keeps step.
__device__ __forceinline__ void follow_columns(GramShared& shared, int base, int i) {
  const bool works = i < k_block, below = i >= base + k_side;
  double x[k_side];
#pragma unroll
  for (int j = 0; j < k_side; ++j) {
    x[j] = works && below ? shared.mixed[i][base + j] : i == base + j;
  }
  substitute(
      x, shared.by_y, [&](int m) { await_columns(shared.l_told, base, m); },
      [&](int j) { return shared.inverse[base + j]; },
      [&](int j, double x_j, double inverse) {
        double* to = below ? &shared.mixed[works ? i : 0][base + j]
                           : &shared.weights[i][swizzled(i, base + j)];
        const double result = x_j * inverse;
        if (works) *to = result;
        return result;
      });
}

/// 256 threads, once the blocks are done: of the diagonal block before `base` R, L and tau, into
/// their places; of that at `base`, if there is one, the roots of the pivots and C, for the
/// next turn.
__device__ __forceinline__ void keep_diagonal(GramShared& shared, int base, int thread) {
  const int i = thread / k_side, j = thread % k_side, before = base - k_side;
  double& c = kept_diagonal(shared, i)[j];
  if (before >= 0) {
    const double inverse = shared.inverse[before + (i > j ? j : i)];  // 1 / Y, of R's sign reversed
    shared.mixed[before + i][before + j] =
        i > j ? shared.by_l[j][i % 2][i / 2 - j / 2] * inverse : copysign(1.0, -inverse) * c;
    if (i == j) shared.tau[before + i] = fabs(quotient(shared.inverse_c[before + i], inverse));
  }
  if (base < k_block) {
    const double root_inverse = inverse_root(shared.by_c[i][i % 2][0]);
    c = i <= j ? root_inverse * shared.by_c[i][j % 2][j / 2 - i / 2] : 0;
    if (i == j) shared.inverse_c[base + i] = root_inverse;
  }
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_GRAM_TRIANGLES_CUH
