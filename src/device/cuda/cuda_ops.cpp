// The operations that are one kernel or a few: argument cases, temporaries and launches. Knows no
// arithmetic (the .cu files) and no dense linear algebra (linalg.cpp, form_q.cpp).
#include "device/cuda/cuda_ops.h"

#include <cmath>

#include "core/philox.h"
#include "device/cuda/cuda_error.h"
#include "device/cuda/launches.h"

namespace kbench::cuda {
namespace {

using Draw = cudaError_t (*)(cudaStream_t, std::uint64_t, std::uint64_t, std::int64_t, float*);

void draw_all(cudaStream_t stream, Draw draw, std::uint64_t seed, std::uint64_t offset,
              std::int64_t count, float* out) {
  constexpr int k_per_call = 4;
  philox::visit_fills(offset, count, philox::k_float_fill, k_per_call,
                      [&](std::uint64_t at, std::int64_t first, std::int64_t length) {
                        check(draw(stream, seed, at / 4, length, out + first), "a random draw");
                      });
}

}  // namespace

void CudaOps::normal(std::uint64_t seed, std::uint64_t offset, std::int64_t count, float* out) {
  draw_all(stream_, launch_normal, seed, offset, count, out);
}

void CudaOps::uniform(std::uint64_t seed, std::uint64_t offset, std::int64_t count, float* out) {
  draw_all(stream_, launch_uniform, seed, offset, count, out);
}

std::vector<float> CudaOps::range(float start, float end, std::int64_t n, bool powers) {
  float* data = arena_.take<float>(Slot::range, n);
  check(launch_range(stream_, start, end, n, powers, data), "a range");
  return to_host(device_, data, n);
}

std::vector<float> CudaOps::linspace(float start, float end, std::int64_t n) {
  if (n <= 0) return {};
  if (n == 1) return {start};
  return range(start, end, n, false);
}

std::vector<float> CudaOps::logspace(float start, float end, std::int64_t n) {
  if (n <= 0) return {};
  if (n == 1) return {static_cast<float>(std::pow(10.0, static_cast<double>(start)))};
  return range(start, end, n, true);
}

void CudaOps::scale(float* a, std::int64_t batch, std::int64_t n, Vectors row, Vectors col) {
  if (row.data == nullptr && col.data == nullptr) return;
  check(launch_scale(stream_, a, batch, n, row, col), "scale");
}

void CudaOps::scale_all(float* a, std::int64_t count, float factor) {
  check(launch_scale_all(stream_, a, count, factor), "scale_all");
}

void CudaOps::add_diagonal(float* a, std::int64_t batch, std::int64_t n, Vectors diagonal) {
  check(launch_add_diagonal(stream_, a, batch, n, diagonal), "add_diagonal");
}

void CudaOps::set_diagonal(float* out, std::int64_t batch, std::int64_t n, Vectors diagonal) {
  check(launch_set_diagonal(stream_, out, batch, n, diagonal), "set_diagonal");
}

void CudaOps::keep_upper(float* a, std::int64_t batch, std::int64_t n) {
  check(launch_keep_upper(stream_, a, batch, n), "keep_upper");
}

void CudaOps::keep_band(float* a, std::int64_t batch, std::int64_t n, const std::int64_t* widths) {
  check(launch_keep_band(stream_, a, batch, n, widths), "keep_band");
}

void CudaOps::zero_columns(float* a, std::int64_t batch, std::int64_t n, std::int64_t first) {
  KBENCH_ASSERT(first >= 0);
  check(launch_zero_columns(stream_, a, batch, n, first), "zero_columns");
}

void CudaOps::repeat_columns(float* a, std::int64_t batch, std::int64_t n, std::int64_t first,
                             const float* noise, float factor) {
  KBENCH_ASSERT(first >= 0 && n - first <= first);
  check(launch_repeat_columns(stream_, a, batch, n, first, noise, factor), "repeat_columns");
}

void CudaOps::near_columns(float* out, std::int64_t batch, std::int64_t n, const float* base,
                           const float* noise, float factor) {
  check(launch_near_columns(stream_, out, batch, n, base, noise, factor), "near_columns");
}

void CudaOps::symmetrize(float* a, std::int64_t batch, std::int64_t n) {
  check(launch_symmetrize(stream_, a, batch, n), "symmetrize");
}

void CudaOps::gather(const float* in, const std::int64_t* index, std::int64_t batch, std::int64_t n,
                     float* out) {
  check(launch_copy_matrices(stream_, in, index, false, batch, n, out), "gather");
}

void CudaOps::scatter(const float* in, const std::int64_t* index, std::int64_t batch,
                      std::int64_t n, float* out) {
  check(launch_copy_matrices(stream_, in, index, true, batch, n, out), "scatter");
}

void CudaOps::rearrange(const float* in, std::int64_t batch, std::int64_t n,
                        const std::int32_t* order, Vectors row, Vectors col, float* out) {
  check(launch_rearrange(stream_, in, batch, n, order, row, col, out), "rearrange");
}

void CudaOps::transpose(const float* in, std::int64_t batch, std::int64_t n, float* out) {
  check(launch_transpose(stream_, in, batch, n, out), "transpose");
}

void CudaOps::diagonal_signs(const float* h, std::int64_t batch, std::int64_t n, float* signs) {
  check(launch_diagonal_signs(stream_, h, batch, n, signs), "diagonal_signs");
}

void CudaOps::widen(const float* in, Layout layout, Vectors column_scale, std::int64_t batch,
                    std::int64_t n, double* out) {
  const auto launch = layout == Layout::column_major ? launch_widen_columns : launch_widen_rows;
  check(launch(stream_, in, column_scale, batch, n, out), "widen");
}

std::vector<double> CudaOps::residual_norm1(const double* p, Part part, Subtrahend subtrahend,
                                            std::int64_t batch, std::int64_t n) {
  if (batch <= 0) return {};
  const std::int64_t slabs = column_sum_slabs(batch, n);
  double* partial = arena_.take<double>(Slot::column_sums, batch * slabs * n);
  double* largest = arena_.take<double>(Slot::matrix_values, batch);
  check(launch_column_sums(stream_, p, part, subtrahend, batch, n, partial), "column sums");
  check(launch_largest_column(stream_, partial, batch, n, largest), "largest column sum");
  return to_host(device_, largest, batch);
}

std::uint64_t* CudaOps::begin_scan() {
  static_assert(k_nothing_found == ~std::uint64_t{0}, "all bytes of the flag are 0xFF");
  std::uint64_t* found = arena_.take<std::uint64_t>(Slot::flag, 1);
  device_.fill(found, 0xFF, sizeof(*found));
  return found;
}

std::uint64_t CudaOps::end_scan(const std::uint64_t* found) {
  return to_host(device_, found, 1).front();
}

std::int64_t CudaOps::first_non_finite(const float* data, std::int64_t count) {
  std::uint64_t* found = begin_scan();
  check(launch_first_non_finite(stream_, data, count, found), "first_non_finite");
  const std::uint64_t index = end_scan(found);
  return index == k_nothing_found ? -1 : static_cast<std::int64_t>(index);
}

bool CudaOps::holds_only(const void* data, std::uint8_t byte, std::int64_t bytes) {
  std::uint64_t* found = begin_scan();
  check(launch_holds_only(stream_, data, byte, bytes, found), "holds_only");
  return end_scan(found) == k_nothing_found;
}

bool CudaOps::equal(const void* a, const void* b, std::int64_t bytes) {
  std::uint64_t* found = begin_scan();
  check(launch_equal(stream_, a, b, bytes, found), "equal");
  return end_scan(found) == k_nothing_found;
}

}  // namespace kbench::cuda
