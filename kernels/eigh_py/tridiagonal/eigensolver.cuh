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
/// The same for a matrix whose eigenvectors turned out not to be orthogonal.
constexpr double k_wide_shift_width = 16 * k_shift_width;
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
KBENCH_HOST_DEVICE Row make_row(float d, float left, double bound, int i,
                                double width = k_shift_width) {
  const double turns = (i + 1) * 0.6180339887498949;
  const double shift = width * bound * (turns - std::floor(turns) - 0.5);
  const double e = left;
  return {d + shift, i == 0 ? 0 : e * e};
}

/// Larger than every eigenvalue, so that it is never counted.
KBENCH_HOST_DEVICE Row padding_row(double bound) { return {4 * bound, 0}; }

/// Point i of `points`, evenly spread from below all eigenvalues to above them.
KBENCH_HOST_DEVICE double grid_point(double bound, int i, int points) {
  const double edge = bound * (1 + k_wide_shift_width);
  return edge * (2.0 * i / (points - 1) - 1);
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

/// What the sequence of leading principal minors of T - x I tells of a point x: the number of
/// eigenvalues below it, which is the number of sign changes, and the last minor, the
/// characteristic polynomial, as minor times a power of two that `exponent` counts (up to a
/// constant of the matrix).
struct Sample {
  double point, minor;
  int exponent, below;
};

/// `count` is padded_rows(n). The minors are rescaled by powers of two once a group, which changes
/// no sign.
KBENCH_HOST_DEVICE Sample sample_at(const Row* rows, int count, double x) {
  double before = 0, now = 1;
  std::uint32_t changes = 0, exponent = 0;
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
    const std::uint32_t larger = a > b ? a : b;
    const double factor = from_high_word(0x7fe00000u - larger);
    exponent += larger >> 20;
    before *= factor;
    now *= factor;
  }
  return {x, now, static_cast<int>(exponent), static_cast<int>(changes)};
}

/// The search for eigenvalue k (ascending, from 0) between two samples: k eigenvalues or fewer lie
/// below `low`, more than k below `high`.
///
/// Neighbours k = first .. last search in rounds, a point each. Those whose eigenvalues are not
/// told apart yet have the same bracket, share it out evenly, and use each other's samples. An
/// eigenvalue alone in its bracket is found by interpolating the characteristic polynomial, by the
/// ITP method (Oliveira and Takahashi) begun anew whenever it falls behind bisection, as it does
/// where the polynomial still spans hundreds of powers of two.
struct Search {
  Sample low, high;
  double start;  // width of the bracket when the interpolation began; 0 where it has not
  double reach;  // half of what a round may leave of the bracket, halved every round
};

KBENCH_HOST_DEVICE double middle_of(const Search& search) {
  return search.low.point + 0.5 * (search.high.point - search.low.point);
}

/// Whether the bracket is still wider than `width` and has an interior.
KBENCH_HOST_DEVICE bool is_open(const Search& search, double width) {
  const double middle = middle_of(search);
  return search.high.point - search.low.point > width && middle > search.low.point &&
         middle < search.high.point;
}

/// Those of the neighbours that share the bracket of k.
struct Peers {
  int first, count;
};
KBENCH_HOST_DEVICE Peers peers_of(const Search& search, int first, int last) {
  const int from = search.low.below > first ? search.low.below : first;
  const int to = search.high.below - 1 < last ? search.high.below - 1 : last;
  return {from, to - from + 1};
}

/// Where the secant through both ends has its zero, as a fraction of the bracket.
KBENCH_HOST_DEVICE double secant_fraction(const Sample& low, const Sample& high) {
  int apart = high.exponent - low.exponent;
  apart = apart < -900 ? -900 : apart > 900 ? 900 : apart;
  const double factor = from_high_word(static_cast<std::uint32_t>(1023 + apart) << 20);
  const double at_low = std::fabs(low.minor), at_high = std::fabs(high.minor) * factor;
  return at_low / (at_low + at_high);
}

/// The ITP point. The secant's zero is moved towards the middle, so that it falls on the far side
/// of the eigenvalue and takes the wide part of the bracket away, and then to within what bisection
/// from the start would have reached. Rounds that gain little are each followed by a bisection, so
/// that there are never more than about twice as many as bisection takes.
KBENCH_HOST_DEVICE double interpolate(Search& search, double width) {
  const double wide = search.high.point - search.low.point, middle = middle_of(search);
  if (search.start == 0) {
    search.start = wide;
    search.reach = wide;
  }
  const double secant = search.low.point + secant_fraction(search.low, search.high) * wide;
  const double away = std::fabs(middle - secant), radius = search.reach - 0.5 * wide;
  search.reach *= 0.5;
  if (radius < 0.25 * wide) {
    search.start = 0;
    return middle;
  }
  double shift = 0.2 * wide * (wide / search.start);
  shift = shift < 0.45 * width ? 0.45 * width : shift;
  double left = shift < away ? away - shift : 0;  // distance from the middle
  left = left < radius ? left : radius;
  return secant < middle ? middle - left : middle + left;
}

/// The point that k samples in this round.
KBENCH_HOST_DEVICE double next_point(Search& search, int k, int first, int last, double width) {
  const Peers peers = peers_of(search, first, last);
  const double low = search.low.point, high = search.high.point;
  double point;
  if (search.high.below - search.low.below == 1) {
    point = interpolate(search, width);
  } else {
    point = low + (high - low) * (k - peers.first + 1) / (peers.count + 1);
  }
  return point > low && point < high ? point : middle_of(search);
}

/// Narrows the bracket of k by a sample that lies inside, and by no other.
KBENCH_HOST_DEVICE void narrow_by(Search& search, int k, const Sample& sample) {
  if (!(sample.point > search.low.point && sample.point < search.high.point)) return;
  if (sample.below > k) {
    search.high = sample;
  } else {
    search.low = sample;
  }
}

/// Narrows the bracket of k by the round's samples, that of neighbour i at [i - first]. Its own
/// always counts, so that a search ends even where rounding, or a NaN, makes the numbers of
/// eigenvalues contradict each other and the peers are none.
KBENCH_HOST_DEVICE void narrow(Search& search, int k, int first, int last, const Sample* samples) {
  const Peers peers = peers_of(search, first, last);
  const int end = peers.first + peers.count;
  int under = peers.first - 1, over = end;  // neighbours whose samples are next to the eigenvalue
  while (over - under > 1) {
    const int between = (under + over) / 2;
    if (samples[between - first].below > k) {
      over = between;
    } else {
      under = between;
    }
  }
  narrow_by(search, k, samples[k - first]);
  if (under >= peers.first && under < end) narrow_by(search, k, samples[under - first]);
  if (over >= peers.first && over < end) narrow_by(search, k, samples[over - first]);
}

/// The width at which a search ends: what FP64 resolves of a matrix of this size.
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
