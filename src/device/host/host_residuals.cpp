// Residuals in FP64 and the finite test of the host device. Sums columns of differences as they are
// formed and writes no difference matrix; judges nothing.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>

#include "device/host/host_ops.h"
#include "device/host/parallel.h"

namespace kbench::host {
namespace {

constexpr std::int64_t k_tile = 32;

// Columns of row i that take part, as [begin, end) without `skip` (-1: none).
struct Columns {
  std::int64_t begin, end, skip;
};
Columns columns_of(Part part, std::int64_t i, std::int64_t n) {
  switch (part) {
    case Part::upper:
      return {i, n, -1};
    case Part::strict_lower:
      return {0, i, -1};
    case Part::off_diagonal:
      return {0, n, i};
    case Part::all:
      break;
  }
  return {0, n, -1};
}

// The matrix on the left and what is subtracted from it, for one matrix of the batch.
struct Difference {
  const double* p;
  Part part;
  const float* y;
  const float* column_scale;
  Subtrahend what;
  std::int64_t n;
};

// line = row i of part(P) - part(Y) diag(s) - I.
void form_row(const Difference& d, std::int64_t i, double* line) {
  std::fill_n(line, d.n, 0.0);
  if (d.p != nullptr) {
    const Columns c = columns_of(d.part, i, d.n);
    std::copy(d.p + i * d.n + c.begin, d.p + i * d.n + c.end, line + c.begin);
    if (c.skip >= 0) line[c.skip] = 0;
  }
  if (d.y != nullptr) {
    const Columns c = columns_of(d.what.part, i, d.n);
    const std::int64_t row = d.what.layout == Layout::row_major ? d.n : 1;
    const std::int64_t col = d.what.layout == Layout::row_major ? 1 : d.n;
    for (std::int64_t j = c.begin; j < c.end; ++j) {
      if (j == c.skip) continue;
      const double y = d.y[i * row + j * col];
      line[j] -= d.column_scale == nullptr ? y : y * double{d.column_scale[j]};
    }
  }
  if (d.what.identity) line[i] -= 1;
}

// A maximum that a NaN cannot leave.
double largest(const std::vector<double>& sums) {
  double worst = 0;
  for (const double sum : sums) {
    if (std::isnan(sum)) return std::numeric_limits<double>::quiet_NaN();
    worst = std::max(worst, sum);
  }
  return worst;
}

double norm1(const Difference& d) {
  std::vector<double> sums(static_cast<std::size_t>(d.n), 0.0), line(sums.size());
  for (std::int64_t i = 0; i < d.n; ++i) {
    form_row(d, i, line.data());
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += std::abs(line[j]);
  }
  return largest(sums);
}

bool is_finite(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7f800000u) != 0x7f800000u;
}

}  // namespace

void HostOps::widen(const float* in, Layout layout, Vectors column_scale, std::int64_t batch,
                    std::int64_t n, double* out) {
  const std::int64_t row = layout == Layout::row_major ? n : 1;
  const std::int64_t col = layout == Layout::row_major ? 1 : n;
  const auto widen_tile = [&](std::int64_t b, std::int64_t top, std::int64_t left) {
    const float* from = in + b * n * n;
    const float* s =
        column_scale.data == nullptr ? nullptr : column_scale.data + b * column_scale.stride;
    for (std::int64_t i = top; i < std::min(n, top + k_tile); ++i) {
      for (std::int64_t j = left; j < std::min(n, left + k_tile); ++j) {
        const double value = from[i * row + j * col];
        out[b * n * n + i * n + j] = s == nullptr ? value : value * double{s[j]};
      }
    }
  };
  parallel_for(batch, n * n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      for (std::int64_t top = 0; top < n; top += k_tile) {
        for (std::int64_t left = 0; left < n; left += k_tile) widen_tile(b, top, left);
      }
    }
  });
}

std::vector<double> HostOps::residual_norm1(const double* p, Part part, Subtrahend subtrahend,
                                            std::int64_t batch, std::int64_t n) {
  std::vector<double> norms(static_cast<std::size_t>(batch));
  const Vectors scale = subtrahend.column_scale;
  parallel_for(batch, 2 * n * n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const Difference difference{p == nullptr ? nullptr : p + b * n * n,
                                  part,
                                  subtrahend.y == nullptr ? nullptr : subtrahend.y + b * n * n,
                                  scale.data == nullptr ? nullptr : scale.data + b * scale.stride,
                                  subtrahend,
                                  n};
      norms[static_cast<std::size_t>(b)] = norm1(difference);
    }
  });
  return norms;
}

std::int64_t HostOps::first_non_finite(const float* data, std::int64_t count) {
  std::atomic<std::int64_t> first{std::numeric_limits<std::int64_t>::max()};
  parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    const float* found = std::find_if_not(data + begin, data + end, is_finite);
    if (found == data + end) return;
    const std::int64_t index = found - data;
    std::int64_t known = first.load();
    while (index < known && !first.compare_exchange_weak(known, index)) {
    }
  });
  const std::int64_t index = first.load();
  return index == std::numeric_limits<std::int64_t>::max() ? -1 : index;
}

}  // namespace kbench::host
