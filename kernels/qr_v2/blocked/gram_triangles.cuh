// The triangles of one diagonal block of 16 columns of a Gram panel: C, R, L and Y inside the block
// by one warp each, then what lies beside and below it by substitution, a thread to each column or
// row.
//
// A step is a chain of FP64 operations that nothing hides, so what is not needed for the next pivot
// is kept out of it: rows go through shared memory beside the division, and roots and inverses are
// taken for all 16 columns at the end. gram_factor.cuh says what the letters stand for.
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

/// One warp: rows base .. base + 15 of R and Y inside their diagonal block, and what L's columns
/// are there before they are divided by Y_jj.
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

/// One thread: 16 elements of a right-hand side x through the triangle of `by`. What `read(j)`
/// reads `finish(j, x_j, read)` uses; it stores element j and returns what the later ones are
/// reduced by.
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
      [&](int j) {
        return Inverses{shared.inverse_c[base + j], shared.inverse_pivot[base + j]};
      },
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

/// One thread: columns base .. base + 15 of L in a row i below the block; or, for i inside it, row
/// i of the inverse of the diagonal block of Y, in the place of C's.
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
      shared.mixed[base + i][base + j] =
          shared.by_l[j][i % 2][i / 2 - j / 2] * shared.inverse[base + j];
    }
  }
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_GRAM_TRIANGLES_CUH
