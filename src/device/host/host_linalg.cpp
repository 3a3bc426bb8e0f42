// Factorisations and products of the host device: LAPACK and BLAS, matrix by matrix. The only file
// of the room that calls LAPACK; knows nothing of residuals or gates.
#include <cblas.h>
#include <fmt/format.h>
#include <lapacke.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "device/device.h"
#include "device/host/host_ops.h"
#include "device/host/parallel.h"

namespace kbench::host {
namespace {

lapack_int lapack_size(std::int64_t n) {
  KBENCH_ASSERT(n >= 1 && n <= 0x7fffffff);
  return static_cast<lapack_int>(n);
}

void require_success(lapack_int info, const char* routine, std::int64_t matrix) {
  if (info == 0) return;
  throw DeviceError(
      fmt::format("LAPACK's `{}` refused matrix {} (INFO {}); report this as a fault of kbench",
                  routine, matrix, info),
      false);
}

// LAPACK's size queries answer in a float, which may round the size down: the documented minimum n
// is the floor.
lapack_int workspace_size(float answer, lapack_int n) {
  return std::max(static_cast<lapack_int>(answer), n);
}

void transpose_in_place(float* a, std::int64_t n) {
  constexpr std::int64_t tile = 32;
  for (std::int64_t top = 0; top < n; top += tile) {
    for (std::int64_t left = 0; left <= top; left += tile) {
      for (std::int64_t i = top; i < std::min(n, top + tile); ++i) {
        for (std::int64_t j = left; j < std::min(i, left + tile); ++j) {
          std::swap(a[i * n + j], a[j * n + i]);
        }
      }
    }
  }
}

CBLAS_TRANSPOSE blas(Transpose t) { return t == Transpose::yes ? CblasTrans : CblasNoTrans; }

}  // namespace

void HostOps::geqrf(float* a, std::int64_t batch, std::int64_t n, float* tau) {
  const lapack_int size = lapack_size(n);
  float answer = 0;
  require_success(
      LAPACKE_sgeqrf_work(LAPACK_COL_MAJOR, size, size, nullptr, size, nullptr, &answer, -1),
      "sgeqrf", 0);
  const lapack_int words = workspace_size(answer, size);
  for_each_matrix(batch, n, [&](std::int64_t b) {
    std::vector<float> work(static_cast<std::size_t>(words));
    require_success(LAPACKE_sgeqrf_work(LAPACK_COL_MAJOR, size, size, a + b * n * n, size,
                                        tau + b * n, work.data(), words),
                    "sgeqrf", b);
  });
}

void HostOps::form_q(const float* h, Layout layout, const float* tau, std::int64_t batch,
                     std::int64_t n, float* q) {
  const lapack_int size = lapack_size(n);
  float answer = 0;
  require_success(
      LAPACKE_sorgqr_work(LAPACK_COL_MAJOR, size, size, size, nullptr, size, nullptr, &answer, -1),
      "sorgqr", 0);
  const lapack_int words = workspace_size(answer, size);
  for_each_matrix(batch, n, [&](std::int64_t b) {
    float* matrix = q + b * n * n;
    std::memcpy(matrix, h + b * n * n, static_cast<std::size_t>(n * n) * sizeof(float));
    if (layout == Layout::row_major) transpose_in_place(matrix, n);
    std::vector<float> work(static_cast<std::size_t>(words));
    require_success(LAPACKE_sorgqr_work(LAPACK_COL_MAJOR, size, size, size, matrix, size,
                                        tau + b * n, work.data(), words),
                    "sorgqr", b);
    transpose_in_place(matrix, n);
  });
}

void HostOps::diagonal_signs(const float* h, std::int64_t batch, std::int64_t n, float* signs) {
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t j = 0; j < n; ++j) {
      signs[b * n + j] = h[b * n * n + j * n + j] > 0 ? 1.0f : -1.0f;
    }
  }
}

void HostOps::multiply(const float* a, Transpose ta, const float* b, Transpose tb,
                       std::int64_t batch, std::int64_t n, float* c) {
  const lapack_int size = lapack_size(n);
  for_each_matrix(batch, n, [&](std::int64_t k) {
    const std::int64_t at = k * n * n;
    cblas_sgemm(CblasRowMajor, blas(ta), blas(tb), size, size, size, 1.0f, a + at, size, b + at,
                size, 0.0f, c + at, size);
  });
}

void HostOps::multiply(const double* a, Transpose ta, const double* b, Transpose tb,
                       std::int64_t batch, std::int64_t n, double* c) {
  const lapack_int size = lapack_size(n);
  for_each_matrix(batch, n, [&](std::int64_t k) {
    const std::int64_t at = k * n * n;
    cblas_dgemm(CblasRowMajor, blas(ta), blas(tb), size, size, size, 1.0, a + at, size, b + at,
                size, 0.0, c + at, size);
  });
}

}  // namespace kbench::host
