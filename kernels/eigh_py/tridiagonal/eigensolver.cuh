// Eigenvalues and eigenvectors of a symmetric tridiagonal matrix in FP64, one pair at a time and
// independently of all others: bisection on Sturm counts, then one twisted factorisation.
//
// There is no reorthogonalisation. It is not needed because the matrix that is solved is a
// neighbour of the given one, a few FP32 ulps away, whose eigenvalues are far enough apart for FP64
// to tell: `make_row` shifts every diagonal entry by its own fraction of that distance.
//
// A unit of its own: the same source compiles for a device and for a host, knows no kernel, no
// batch and no memory but what it is handed.
#ifndef KBENCH_EIGH_TRIDIAGONAL_EIGENSOLVER_CUH
#define KBENCH_EIGH_TRIDIAGONAL_EIGENSOLVER_CUH

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#define KBENCH_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define KBENCH_HOST_DEVICE inline
#endif
#if defined(__CUDA_ARCH__)
#define KBENCH_UNROLL _Pragma("unroll")
#else
#define KBENCH_UNROLL
#endif

namespace tridiagonal {

/// Row i of the matrix as the Sturm recurrence reads it: the diagonal entry and the square of the
/// entry to its left (0 in row 0).
struct alignas(16) Row {
  double diagonal, square;
};

/// Sturm counts take rows in groups; arrays of rows are padded to whole groups by `padding_row`.
constexpr int k_row_group = 8;
KBENCH_HOST_DEVICE constexpr int padded_rows(int n) {
  return (n + k_row_group - 1) / k_row_group * k_row_group;
}

/// Total width of the shifts, relative to the matrix: 4 FP32 ulps.
constexpr double k_shift_width = 4 * 0x1p-23;
/// Couplings below this fraction of the matrix are replaced by it, far below what FP64 resolves,
/// so that the recurrence never stays at zero.
constexpr double k_least_coupling = 1e-20;
/// Pivots nearer to zero than this fraction of the matrix are moved away from it.
constexpr double k_least_pivot = 1e-30;

/// `bound` is at least every |d_i| + |e_(i-1)| + |e_i|, and positive.
KBENCH_HOST_DEVICE float make_coupling(float e, double bound) {
  const float least = static_cast<float>(k_least_coupling * bound);
  return std::fabs(e) < least ? least : e;
}

/// `left` is the coupling to row i - 1, as make_coupling returned it. The multiples of the golden
/// ratio modulo 1 are as evenly spread as n numbers can be: no two shifts of exact duplicates are
/// closer than about width / (sqrt(5) n).
KBENCH_HOST_DEVICE Row make_row(float d, float left, double bound, int i) {
  const double turns = (i + 1) * 0.6180339887498949;
  const double shift = k_shift_width * bound * (turns - std::floor(turns) - 0.5);
  const double e = left;
  return {d + shift, i == 0 ? 0 : e * e};
}

/// Larger than every eigenvalue, so that it is never counted.
KBENCH_HOST_DEVICE Row padding_row(double bound) { return {4 * bound, 0}; }

/// An interval with k eigenvalues or fewer below `low` and more than k below `high`.
struct Bracket {
  double low, high;
};
KBENCH_HOST_DEVICE Bracket whole_range(double bound) {
  const double edge = bound * (1 + 2 * k_shift_width);
  return {-edge, edge};
}
/// Point k of `points` inside the range; k = -1 and k = points are its ends.
KBENCH_HOST_DEVICE double grid_point(const Bracket& range, int k, int points) {
  return range.low + (range.high - range.low) * (k + 1) / (points + 1);
}

KBENCH_HOST_DEVICE std::uint32_t high_word(double x) {
#if defined(__CUDA_ARCH__)
  return static_cast<std::uint32_t>(__double2hiint(x));
#else
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return static_cast<std::uint32_t>(bits >> 32);
#endif
}
KBENCH_HOST_DEVICE double from_high_word(std::uint32_t high) {
#if defined(__CUDA_ARCH__)
  return __hiloint2double(static_cast<int>(high), 0);
#else
  const std::uint64_t bits = std::uint64_t{high} << 32;
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
#endif
}

/// 1 / x to within a few ulps. Dividing is half of the work here, and the device's exact division
/// takes four times as long.
KBENCH_HOST_DEVICE double reciprocal(double x) {
#if defined(__CUDA_ARCH__)
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  y = fma(fma(-x, y, 1.0), y, y);
  return fma(fma(-x, y, 1.0), y, y);
#else
  return 1 / x;
#endif
}

/// The number of eigenvalues below x: the sign changes in the sequence of leading principal minors
/// of T - x I. `count` is padded_rows(n). The minors are rescaled by powers of two once a group,
/// which changes no sign.
KBENCH_HOST_DEVICE int count_below(const Row* rows, int count, double x) {
  double before = 0, now = 1;
  std::uint32_t changes = 0;
  for (int i = 0; i < count; i += k_row_group) {
    KBENCH_UNROLL
    for (int k = 0; k < k_row_group; ++k) {
      const Row row = rows[i + k];
      const double next = (row.diagonal - x) * now - row.square * before;
      changes += (high_word(next) ^ high_word(now)) >> 31;
      before = now;
      now = next;
    }
    constexpr std::uint32_t exponent_bits = 0x7ff00000u;
    const std::uint32_t a = high_word(before) & exponent_bits;
    const std::uint32_t b = high_word(now) & exponent_bits;
    const double factor = from_high_word(0x7fe00000u - (a > b ? a : b));
    before *= factor;
    now *= factor;
  }
  return static_cast<int>(changes);
}

/// Narrows the bracket of eigenvalue k (ascending, from 0) to `width`, or until it has no interior.
KBENCH_HOST_DEVICE Bracket bisect(const Row* rows, int count, int k, Bracket bracket,
                                  double width) {
  while (bracket.high - bracket.low > width) {
    const double middle = bracket.low + 0.5 * (bracket.high - bracket.low);
    if (middle <= bracket.low || middle >= bracket.high) break;
    if (count_below(rows, count, middle) > k) {
      bracket.high = middle;
    } else {
      bracket.low = middle;
    }
  }
  return bracket;
}

/// The width at which bisection stops: what FP64 resolves of a matrix of this size.
KBENCH_HOST_DEVICE double final_width(double bound) { return 0x1p-53 * bound; }

/// Where one eigenvector is made. Entry i of both arrays lies at [i * stride], so that neighbouring
/// threads work on neighbouring addresses.
struct VectorTask {
  const Row* rows;
  const float* couplings;  // [i] between rows i and i + 1
  int n;
  std::int64_t stride;
  double* pivots;  // scratch
  float* vector;   // not normalised; its largest entries are near 1
};

KBENCH_HOST_DEVICE double away_from_zero(double pivot, double least) {
  return std::fabs(pivot) < least ? -least : pivot;
}

/// Index of the smallest diagonal entry, in magnitude, of the twisted factorisations of T - x I:
/// where the eigenvector is largest. Leaves the pivots of the factorisation from above.
KBENCH_HOST_DEVICE int factor_twisted(const VectorTask& task, double x, double least) {
  double inverse = 0;
  for (int i = 0; i < task.n; ++i) {
    const Row row = task.rows[i];
    const double pivot = away_from_zero((row.diagonal - x) - row.square * inverse, least);
    task.pivots[i * task.stride] = pivot;
    inverse = reciprocal(pivot);
  }
  double below = 0;  // what the factorisation from below takes off the diagonal entry
  double smallest = 0;
  int twist = -1;
  for (int i = task.n - 1; i >= 0; --i) {
    const Row row = task.rows[i];
    const double twisted = std::fabs(task.pivots[i * task.stride] - below);
    if (twist < 0 || twisted < smallest) {
      smallest = twisted;
      twist = i;
    }
    below = row.square * reciprocal(away_from_zero((row.diagonal - x) - below, least));
  }
  return twist;
}

/// Writes the eigenvector of the eigenvalue x, which is exact to final_width, and returns the
/// reciprocal of its norm. The two loops run over all rows so that the threads of a warp, whose
/// twists differ, stay together.
KBENCH_HOST_DEVICE float twisted_vector(const VectorTask& task, double x, double bound) {
  const double least = k_least_pivot * bound;
  const int twist = factor_twisted(task, x, least);
  double square = 1, z = 0, below = 0;
  for (int i = task.n - 1; i >= 0; --i) {
    const std::int64_t at = i * task.stride;
    if (i > twist) {  // the pivots from below replace those from above
      const Row row = task.rows[i];
      const double pivot = away_from_zero((row.diagonal - x) - below, least);
      task.pivots[at] = pivot;
      below = row.square * reciprocal(pivot);
    } else {
      z = i == twist ? 1 : -task.couplings[i] * z * reciprocal(task.pivots[at]);
      task.vector[at] = static_cast<float>(z);
      if (i < twist) square += z * z;
    }
  }
  z = 1;
  for (int i = 1; i < task.n; ++i) {
    if (i <= twist) continue;
    const std::int64_t at = i * task.stride;
    z = -task.couplings[i - 1] * z * reciprocal(task.pivots[at]);
    task.vector[at] = static_cast<float>(z);
    square += z * z;
  }
  return static_cast<float>(1 / std::sqrt(square));
}

}  // namespace tridiagonal

#endif  // KBENCH_EIGH_TRIDIAGONAL_EIGENSOLVER_CUH
