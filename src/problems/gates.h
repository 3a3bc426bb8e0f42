// Judging residuals: gates, scaled residuals, the finite test of outputs, and their messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "problems/problem.h"

namespace kbench {

/// FP32 epsilon.
constexpr double k_eps = 0x1p-23;

/// residual / (eps max(n, 1) max(scale, 1e-30)).
double scaled_residual(double residual, double scale, std::int64_t n);

/// One gate over a batch: matrix b passes when residuals[b] <= rtol * scales[b].
struct Gate {
  std::string_view name;     ///< `factor`
  std::string_view formula;  ///< `norm1(R - Q^T A)`
  double rtol = 0;
  std::vector<double> residuals;
  std::vector<double> scales;  ///< norm1(A) of each matrix, or ones
};

/// Residuals of one slice after those of the slices before it.
void append(std::vector<double>& all, const std::vector<double>& more);

/// Folds a gate into a verdict: the largest residual / allowed (an allowed 0 takes only residual
/// 0), and the message of the worst matrix when the gate fails and no earlier one has. A residual
/// or allowed value that is NaN or infinite always fails, with its own message.
void judge(const Gate& gate, std::int64_t n, Verdict& verdict);

/// Folds one ratio of residual to allowed into the verdict's worst.
void note_ratio(std::string_view gate, double ratio, Verdict& verdict);

/// Largest scaled residual of any matrix; NaN when one is NaN.
double largest_scaled(const Gate& gate, std::int64_t n);

/// A diagnostic: the largest residual scaled by the largest norm1(A).
double scaled_by_largest(std::span<const double> residuals, std::span<const double> norms,
                         std::int64_t n);

/// Fails the verdict naming the first output, matrix and element that is NaN or infinite.
/// Returns whether all are finite.
bool require_finite(Device& device, std::span<const OutputShape> shapes,
                    std::span<const float* const> outputs, Layout layout, std::int64_t batch,
                    std::int64_t n, Verdict& verdict);

/// Throws Error(case_failed) when a user's own matrices are not finite.
void require_finite_input(Device& device, const float* a, std::int64_t batch, std::int64_t n);

/// Passes when no gate has failed: `<rtols>; <figures>; batch=..; n=..`.
void conclude(std::span<const Figure> rtols, std::int64_t batch, std::int64_t n, Verdict& verdict);

}  // namespace kbench
