// The host form of what the test plug-ins of eigh_py are written in: LAPACK and plain memory.
#include <lapacke.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "plugin.h"

namespace kbench_test {

int solve(const kbench_call* call) {
  const std::int64_t n = order(call);
  for (std::int64_t b = 0; b < batch(call); ++b) {
    float* q = output(call, 0) + b * n * n;
    // The input is symmetric: its rows are its columns.
    const float* a = input(call) + b * n * n;
    std::copy(a, a + n * n, q);
    const auto size = static_cast<lapack_int>(n);
    if (LAPACKE_ssyevd(LAPACK_COL_MAJOR, 'V', 'L', size, q, size, output(call, 1) + b * n) != 0) {
      return 1;
    }
    if (call->outputs[0].layout == KBENCH_COLUMN_MAJOR) continue;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < i; ++j) std::swap(q[i * n + j], q[j * n + i]);
    }
  }
  return 0;
}

void copy(const kbench_call*, void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

void write(const kbench_call*, float* to, float value) { *to = value; }

void read(const kbench_call*, void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

void* allocate(std::size_t bytes) { return std::malloc(bytes); }

}  // namespace kbench_test
