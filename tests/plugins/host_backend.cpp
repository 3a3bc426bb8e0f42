// The host form of what test plug-ins are written in: LAPACK and plain memory.
#include <lapacke.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "plugin.h"

namespace kbench_test {
namespace {

void transpose(const float* from, std::int64_t n, float* to) {
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) to[j * n + i] = from[i * n + j];
  }
}

}  // namespace

int solve(const kbench_call* call) {
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
