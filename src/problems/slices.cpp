// Arithmetic of slices and sizes. Knows no device and no problem.
#include "problems/slices.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace kbench {

Slices::Slices(std::int64_t batch, double matrix_bytes, double limit_bytes) : batch_(batch) {
  KBENCH_ASSERT(batch >= 1 && matrix_bytes > 0);
  const double fit = std::clamp(limit_bytes / matrix_bytes, 1.0, static_cast<double>(batch));
  const auto largest = static_cast<std::int64_t>(fit);
  const std::int64_t count = (batch + largest - 1) / largest;
  size_ = (batch + count - 1) / count;
}

double matrix_bytes(std::int64_t n, double bytes_per_entry) {
  return static_cast<double>(n) * static_cast<double>(n) * bytes_per_entry;
}

double batch_cubes(std::int64_t batch, std::int64_t n) {
  const auto size = static_cast<double>(n);
  return static_cast<double>(batch) * size * size * size;
}

double ops_bytes(std::int64_t count, std::int64_t n) {
  constexpr double most_panels = 512 * 1024 * 1024, lanes = 16;
  const auto matrices = static_cast<double>(count), size = static_cast<double>(n);
  const double panel = 1280 * size + 32 * 1024;
  const double panels = std::max(panel, std::min(matrices * panel, most_panels));
  const double workspaces = std::min(matrices, lanes) * 1024 * size;
  // The slices of FP64 residuals hold at most 3.2e9 / (24 n^2) matrices.
  const double sums = std::min(16 * matrices * size, 16 * k_checker_slice_bytes / (24 * size));
  return panels + workspaces + sums + 1024 * 1024;
}

std::int64_t to_bytes(double bytes) {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  return bytes >= static_cast<double>(largest) ? largest
                                               : static_cast<std::int64_t>(std::ceil(bytes));
}

}  // namespace kbench
