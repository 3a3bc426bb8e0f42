// Eigenvectors of a small symmetric matrix by the cyclic Jacobi method, in double: one group of
// lanes a matrix. Compiles for the host and for CUDA.
#pragma once

#include <cmath>

#ifdef __CUDACC__
#define KBENCH_TEST_BOTH __host__ __device__
#else
#define KBENCH_TEST_BOTH
#endif

namespace kbench_test {

/// On return the diagonal of `a` [n, n] holds the eigenvalues in no order, and column j of `v`
/// [n, n] a unit eigenvector of the one at j; both row-major, shared by `lanes` lanes of which this
/// is number `lane`. `sync` lets each lane see what the others wrote.
template <class Sync>
KBENCH_TEST_BOTH inline void jacobi(double* a, double* v, int n, int lane, int lanes, Sync sync) {
  constexpr int k_sweeps = 12;  // convergence is quadratic: six reach double precision at n = 32
  for (int k = lane; k < n * n; k += lanes) v[k] = k / n == k % n ? 1 : 0;
  for (int step = 0; step < k_sweeps * n * n; ++step) {
    const int p = step / n % n, q = step % n;
    if (p >= q) continue;
    sync();
    const double off = a[p * n + q];
    if (off == 0) continue;
    // tan of the angle that makes the entry zero: the smaller root of t^2 + 2 theta t - 1 = 0.
    const double theta = (a[q * n + q] - a[p * n + p]) / (2 * off);
    const double root =
        theta < 0 ? theta - sqrt(theta * theta + 1) : theta + sqrt(theta * theta + 1);
    const double t = 1 / root;
    const double c = 1 / sqrt(t * t + 1), s = t * c;
    sync();
    for (int k = lane; k < n; k += lanes) {
      const double ap = a[k * n + p], aq = a[k * n + q];
      a[k * n + p] = c * ap - s * aq;
      a[k * n + q] = s * ap + c * aq;
      const double vp = v[k * n + p], vq = v[k * n + q];
      v[k * n + p] = c * vp - s * vq;
      v[k * n + q] = s * vp + c * vq;
    }
    sync();
    for (int k = lane; k < n; k += lanes) {
      const double ap = a[p * n + k], aq = a[q * n + k];
      a[p * n + k] = c * ap - s * aq;
      a[q * n + k] = s * ap + c * aq;
    }
  }
  sync();
}

/// The place of eigenvalue j among all on the diagonal of `a`, ascending.
KBENCH_TEST_BOTH inline int place_of(const double* a, int n, int j) {
  int place = 0;
  for (int k = 0; k < n; ++k) {
    const double other = a[k * n + k], own = a[j * n + j];
    if (other < own || (other == own && k < j)) ++place;
  }
  return place;
}

}  // namespace kbench_test
