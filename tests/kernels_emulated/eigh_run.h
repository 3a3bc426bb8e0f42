// One call of the eigh_py kernel `tridiagonal` on the emulated machine.
#pragma once

#include <vector>

namespace kbench::test {

struct Eigenpairs {
  std::vector<float> q, l;  // [n, n] row-major, eigenvectors in columns; ascending
  int ranks;                // thread blocks that shared the matrix
};

/// `a` is [n, n]. `ranks` other than 0 decides how many thread blocks share it. All memory but `a`
/// holds NaN before the call.
Eigenpairs eigenpairs_emulated(const std::vector<float>& a, int n, int ranks, bool backwards);

/// The residuals of the problem's three gates as fractions of their limits.
struct Gates {
  double eigen, orthogonality, reconstruction;
};
Gates gates_of(const std::vector<float>& a, const Eigenpairs& pairs, int n);

}  // namespace kbench::test
