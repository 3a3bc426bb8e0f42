// Turns residuals into a verdict and its words. Must not know how a residual was computed or which
// problem it belongs to.
#include "problems/gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace kbench {
namespace {

constexpr double k_infinity = std::numeric_limits<double>::infinity();

// Residual over allowed; only 0 is allowed where the allowed value is 0. Never NaN.
double ratio_of(double residual, double allowed) {
  if (!std::isfinite(residual) || !std::isfinite(allowed)) return k_infinity;
  if (allowed == 0) return residual == 0 ? 0 : k_infinity;
  return residual / allowed;
}

std::string describe(const Gate& gate, std::size_t b, std::size_t failed, std::int64_t n) {
  const double residual = gate.residuals[b], allowed = gate.rtol * gate.scales[b];
  const std::string others =
      failed > 1 ? fmt::format("; {} of {} matrices fail", failed, gate.residuals.size()) : "";
  if (!std::isfinite(residual) || !std::isfinite(allowed)) {
    return fmt::format("{} residual is not finite (matrix {} of {}: {} = {:.3g}){}", gate.name, b,
                       gate.residuals.size(), gate.formula, residual, others);
  }
  return fmt::format(
      "{} residual is too large (matrix {} of {}: {} = {:.3g}, allowed {:.3g}, "
      "scaled {:.3g}){}",
      gate.name, b, gate.residuals.size(), gate.formula, residual, allowed,
      scaled_residual(residual, gate.scales[b], n), others);
}

// Largest value; NaN where one is NaN.
double largest(std::span<const double> values) {
  double worst = 0;
  for (const double value : values) {
    if (std::isnan(value)) return value;
    worst = std::max(worst, value);
  }
  return worst;
}

float value_at(Device& device, const float* data, std::int64_t index) {
  return to_host(device, data + index, 1)[0];
}

std::string describe_place(std::int64_t index, int rank, Layout layout, std::int64_t n) {
  if (rank == 2) return fmt::format("matrix {}, element {}", index / n, index % n);
  const std::int64_t major = index / n % n, minor = index % n;
  const bool rows_first = layout == Layout::row_major;
  return fmt::format("matrix {}, row {}, column {}", index / n / n, rows_first ? major : minor,
                     rows_first ? minor : major);
}

}  // namespace

double scaled_residual(double residual, double scale, std::int64_t n) {
  return residual /
         (k_eps * static_cast<double>(std::max<std::int64_t>(n, 1)) * std::max(scale, 1e-30));
}

void append(std::vector<double>& all, const std::vector<double>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

void note_ratio(std::string_view gate, double ratio, Verdict& verdict) {
  if (verdict.worst_gate.empty() || ratio > verdict.worst_of_gate) {
    verdict.worst_of_gate = ratio;
    verdict.worst_gate = gate;
  }
}

void judge(const Gate& gate, std::int64_t n, Verdict& verdict) {
  KBENCH_ASSERT(!gate.residuals.empty() && gate.residuals.size() == gate.scales.size());
  std::size_t worst = 0, failed = 0;
  double worst_ratio = -1;
  for (std::size_t b = 0; b < gate.residuals.size(); ++b) {
    const double ratio = ratio_of(gate.residuals[b], gate.rtol * gate.scales[b]);
    if (!(ratio <= 1)) ++failed;
    if (ratio > worst_ratio) {
      worst_ratio = ratio;
      worst = b;
    }
  }
  note_ratio(gate.name, worst_ratio, verdict);
  if (failed > 0 && verdict.error.empty()) verdict.error = describe(gate, worst, failed, n);
}

double largest_scaled(const Gate& gate, std::int64_t n) {
  std::vector<double> scaled;
  for (std::size_t b = 0; b < gate.residuals.size(); ++b) {
    scaled.push_back(scaled_residual(gate.residuals[b], gate.scales[b], n));
  }
  return largest(scaled);
}

double scaled_by_largest(std::span<const double> residuals, std::span<const double> norms,
                         std::int64_t n) {
  return scaled_residual(largest(residuals), largest(norms), n);
}

bool require_finite(Device& device, std::span<const OutputShape> shapes,
                    std::span<const float* const> outputs, Layout layout, std::int64_t batch,
                    std::int64_t n, Verdict& verdict) {
  KBENCH_ASSERT(shapes.size() == outputs.size());
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const std::int64_t count = shapes[k].rank == 3 ? batch * n * n : batch * n;
    const std::int64_t index = device.ops().first_non_finite(outputs[k], count);
    if (index < 0) continue;
    verdict.error = fmt::format("output `{}` is not finite ({}: {}); write every element",
                                shapes[k].name, describe_place(index, shapes[k].rank, layout, n),
                                value_at(device, outputs[k], index));
    note_ratio("finite", k_infinity, verdict);
    return false;
  }
  return true;
}

void require_finite_input(Device& device, const float* a, std::int64_t batch, std::int64_t n) {
  const std::int64_t index = device.ops().first_non_finite(a, batch * n * n);
  if (index < 0) return;
  throw Error(
      ExitCode::case_failed,
      fmt::format("the input is not finite ({}: {}); give matrices without NaN and Inf",
                  describe_place(index, 3, Layout::row_major, n), value_at(device, a, index)));
}

void conclude(std::span<const Figure> rtols, std::int64_t batch, std::int64_t n, Verdict& verdict) {
  verdict.passed = verdict.error.empty();
  if (!verdict.passed) return;
  for (const Figure& rtol : rtols) {
    verdict.message += fmt::format("{}={:.3g}; ", rtol.name, rtol.value);
  }
  for (const Figure& figure : verdict.figures) {
    verdict.message += fmt::format("{}={:.3g}; ", figure.name, figure.value);
  }
  verdict.message += fmt::format("batch={}; n={}", batch, n);
}

}  // namespace kbench
