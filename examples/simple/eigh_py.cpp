// Symmetric eigenvalues and eigenvectors on the host through LAPACK, one matrix after the other.
#include <lapacke.h>

#include <cstring>
#include <vector>

#include "kbench_kernel.h"

// a: [batch, n, n] row-major. Writes q: [batch, n, n], its columns the eigenvectors (column-major),
// and l: [batch, n], ascending. A status other than 0 fails the case.
extern "C" int custom_kernel(const float* a, float* q, float* l, int64_t batch, int64_t n,
                             void* /*stream*/) {
  // Sizes as documented: in single precision the answer of a workspace query is rounded.
  std::vector<float> work(static_cast<size_t>(1 + 6 * n + 2 * n * n));
  std::vector<lapack_int> iwork(static_cast<size_t>(3 + 5 * n));
  const lapack_int order = static_cast<lapack_int>(n);
  std::memcpy(q, a, sizeof(float) * static_cast<size_t>(batch * n * n));
  for (int64_t b = 0; b < batch; ++b, q += n * n, l += n) {
    const int status = LAPACKE_ssyevd_work(LAPACK_COL_MAJOR, 'V', 'L', order, q, order, l,
                                           work.data(), static_cast<lapack_int>(work.size()),
                                           iwork.data(), static_cast<lapack_int>(iwork.size()));
    if (status != 0) return status;
  }
  return 0;
}

KBENCH_SIMPLE_KERNEL(eigh_py, KBENCH_HOST, KBENCH_COLUMN_MAJOR)
