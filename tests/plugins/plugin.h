// What the test plug-ins share: the descriptor's boilerplate and a right answer to begin from.
#pragma once

#include <lapacke.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kbench_kernel.h"

/// Defines the descriptor of a host plug-in of qr_v2 whose only function is `custom_kernel`.
#define KBENCH_TEST_PLUGIN(name, layout)                                                       \
  extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {KBENCH_ABI_VERSION, \
                                                                           name,               \
                                                                           "qr_v2",            \
                                                                           "test plug-in",     \
                                                                           KBENCH_HOST,        \
                                                                           layout,             \
                                                                           0,                  \
                                                                           nullptr,            \
                                                                           nullptr,            \
                                                                           nullptr,            \
                                                                           custom_kernel,      \
                                                                           nullptr,            \
                                                                           nullptr}

namespace kbench_test {

inline float* input(const kbench_call* call) { return static_cast<float*>(call->inputs[0].data); }
inline float* output(const kbench_call* call, int index) {
  return static_cast<float*>(call->outputs[index].data);
}
inline std::int64_t batch(const kbench_call* call) { return call->inputs[0].size[0]; }
inline std::int64_t order(const kbench_call* call) { return call->inputs[0].size[1]; }

inline void transpose(const float* from, std::int64_t n, float* to) {
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) to[j * n + i] = from[i * n + j];
  }
}

/// The right H and tau, H in the layout that the outputs state.
inline void solve(const kbench_call* call) {
  const std::int64_t n = order(call);
  std::vector<float> columns(static_cast<std::size_t>(n * n));
  for (std::int64_t b = 0; b < batch(call); ++b) {
    float* h = output(call, 0) + b * n * n;
    transpose(input(call) + b * n * n, n, columns.data());
    LAPACKE_sgeqrf(LAPACK_COL_MAJOR, static_cast<lapack_int>(n), static_cast<lapack_int>(n),
                   columns.data(), static_cast<lapack_int>(n), output(call, 1) + b * n);
    if (call->outputs[0].layout == KBENCH_COLUMN_MAJOR) {
      std::copy(columns.begin(), columns.end(), h);
    } else {
      transpose(columns.data(), n, h);
    }
  }
}

}  // namespace kbench_test
