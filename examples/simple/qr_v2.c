/* Householder QR on the host through LAPACK, one matrix after the other. */
#include <lapacke.h>

#include "kbench_kernel.h"

/* a: [batch, n, n] row-major. Writes h: [batch, n, n] column-major and tau: [batch, n] as sgeqrf
 * does. A status other than 0 fails the case. */
int custom_kernel(const float* a, float* h, float* tau, int64_t batch, int64_t n, void* stream) {
  (void)stream;
  for (int64_t b = 0; b < batch; ++b, a += n * n, h += n * n, tau += n) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) h[j * n + i] = a[i * n + j];
    }
    const int status =
        LAPACKE_sgeqrf(LAPACK_COL_MAJOR, (lapack_int)n, (lapack_int)n, h, (lapack_int)n, tau);
    if (status != 0) return status;
  }
  return 0;
}

KBENCH_SIMPLE_KERNEL(qr_v2, KBENCH_HOST, KBENCH_COLUMN_MAJOR)
