// One call of the eigh_py kernel `tridiagonal`, or `precise`, on the emulated machine.
#pragma once

#include <vector>

namespace kbench::test {

struct Eigenpairs {
  std::vector<float> q, l;  // [n, n] row-major, eigenvectors in columns; ascending
  int ranks;                // thread blocks that shared the matrix
  bool outside;             // whether their vectors were outside shared memory
  bool in_warp;             // whether one warp reduced it
  unsigned flagged;         // matrices that were solved again
};

/// What a call is made to do beside solving.
struct Conditions {
  int ranks = 0;  // other than 0 decides how many thread blocks share the matrix
  bool backwards = false;
  int shared_bytes = 227 * 1024;  // of a thread block of the device
  bool all_fail = false;          // whether the certificate is refused to every matrix
  bool precise = false;           // the kernel
};

/// `a` is [n, n]. All memory but `a` holds NaN before the call.
Eigenpairs eigenpairs_emulated(const std::vector<float>& a, int n, const Conditions& conditions);

/// The residuals of the problem's three gates as fractions of their limits.
struct Gates {
  double eigen, orthogonality, reconstruction;
};
Gates gates_of(const std::vector<float>& a, const Eigenpairs& pairs, int n);

}  // namespace kbench::test
