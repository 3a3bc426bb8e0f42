/* Symmetric eigenvalues and eigenvectors on the host through LAPACK, one matrix after the other. */
#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

#include "kbench_kernel.h"

/* a: [batch, n, n] row-major. Writes q: [batch, n, n], its columns the eigenvectors (column-major),
 * and l: [batch, n], ascending. A status other than 0 fails the case. */
int custom_kernel(const float* a, float* q, float* l, int64_t batch, int64_t n, void* stream) {
  (void)stream;
  /* Sizes as documented: in single precision the answer of a workspace query is rounded. */
  const int64_t words = 1 + 6 * n + 2 * n * n, iwords = 3 + 5 * n;
  float* work = malloc(sizeof(float) * (size_t)words);
  lapack_int* iwork = malloc(sizeof(lapack_int) * (size_t)iwords);
  int status = work == NULL || iwork == NULL;
  memcpy(q, a, sizeof(float) * (size_t)(batch * n * n));
  for (int64_t b = 0; b < batch && status == 0; ++b, q += n * n, l += n) {
    status = LAPACKE_ssyevd_work(LAPACK_COL_MAJOR, 'V', 'L', (lapack_int)n, q, (lapack_int)n, l,
                                 work, (lapack_int)words, iwork, (lapack_int)iwords);
  }
  free(work);
  free(iwork);
  return status;
}

KBENCH_SIMPLE_KERNEL(eigh_py, KBENCH_HOST, KBENCH_COLUMN_MAJOR)
