// qr_v2 in the full form on the host: LAPACK's sgeqrf with kbench's workspace.
#include <lapacke.h>

#include <cstdio>
#include <limits>
#include <new>

#include "kbench_kernel.h"

namespace {

struct State {
  int64_t batch, n;
};

/// Untimed. A shape that cannot be done is refused here, in words.
int create(const kbench_call* shapes, void** state) {
  const int64_t batch = shapes->inputs[0].size[0], n = shapes->inputs[0].size[1];
  if (n > std::numeric_limits<lapack_int>::max() / 64) {
    std::snprintf(shapes->error, shapes->error_size, "n is too large for LAPACK's 32-bit sizes");
    return 1;
  }
  *state = new (std::nothrow) State{batch, n};
  return *state == nullptr ? 1 : 0;
}

/// Untimed. A multiple of n; LAPACK's own wish is 32 n on this routine.
uint64_t workspace_bytes(void* state) {
  return sizeof(float) * 32 * static_cast<uint64_t>(static_cast<State*>(state)->n);
}

/// Timed.
int custom_kernel(void* state, const kbench_call* call) {
  const int64_t batch = static_cast<State*>(state)->batch, n = static_cast<State*>(state)->n;
  const float* a = static_cast<const float*>(call->inputs[0].data);
  float* h = static_cast<float*>(call->outputs[0].data);
  float* tau = static_cast<float*>(call->outputs[1].data);
  const lapack_int order = static_cast<lapack_int>(n);
  const lapack_int words = static_cast<lapack_int>(call->workspace_bytes / sizeof(float));
  for (int64_t b = 0; b < batch; ++b, a += n * n, h += n * n, tau += n) {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) h[j * n + i] = a[i * n + j];
    }
    const int status = LAPACKE_sgeqrf_work(LAPACK_COL_MAJOR, order, order, h, order, tau,
                                           static_cast<float*>(call->workspace), words);
    if (status == 0) continue;
    std::snprintf(call->error, call->error_size, "sgeqrf returned info %d", status);
    return 1;
  }
  return 0;
}

void destroy(void* state) { delete static_cast<State*>(state); }

}  // namespace

extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {
    KBENCH_ABI_VERSION,
    "sgeqrf",
    "qr_v2",
    "LAPACK sgeqrf, one matrix after the other",
    KBENCH_HOST,
    KBENCH_COLUMN_MAJOR,
    0,
    create,
    workspace_bytes,
    nullptr,  // prepare: nothing depends on the addresses
    custom_kernel,
    nullptr,  // report: nothing to say
    destroy};
