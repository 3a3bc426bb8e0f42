// The gates of eigh_py, those of the public checker, computed in FP64. Written against Ops for
// every device; must not know how the matrices were made, kernels, timing or output formats.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "problems/eigh_py.h"
#include "problems/gates.h"
#include "problems/slices.h"

namespace kbench {
namespace {

constexpr std::array<OutputShape, 2> k_outputs{{{"Q", 3}, {"L", 2}}};

class EighChecker : public Checker {
 public:
  EighChecker(Device& device, std::int64_t batch, std::int64_t n, double slice_bytes)
      : device_(device),
        batch_(batch),
        n_(n),
        slices_(batch, eigh_py_checker_matrix_bytes(n), slice_bytes),
        q_(device, slices_.size() * n * n),
        a_(device, slices_.size() * n * n),
        product_(device, slices_.size() * n * n) {}

  Verdict check(const float* a, std::span<const float* const> outputs, Layout layout,
                bool diagnostics) override;

 private:
  struct Residuals {
    std::vector<double> norm_a, eigen, orthogonality, reconstruction, diagonalization;
  };
  struct Slice {
    const float *a, *q, *l;
    Layout layout;
    std::int64_t count;
  };

  void judge_order(const std::vector<float>& l, Verdict& verdict) const;
  void add_slice(const Slice& slice, bool diagnostics, Residuals& residuals);
  void judge_residuals(const Residuals& residuals, bool diagnostics, Verdict& verdict) const;

  Device& device_;
  std::int64_t batch_, n_;
  Slices slices_;
  Buffer<double> q_, a_, product_;
};

/// The largest magnitude, and how far a value falls below the one before it, at most; `at` is the
/// first of that pair.
struct Ascent {
  double largest = 0, drop = 0;
  std::int64_t at = 0;
};

/// The largest of value(0) .. value(count - 1), and 0. Several running maxima, for one waits for
/// its own last step: every recheck does this for all eigenvalues while the device has nothing to
/// do.
template <class Value>
double largest_of(std::size_t count, Value value) {
  constexpr std::size_t k_lanes = 8;
  std::array<double, k_lanes> lanes{};
  std::size_t i = 0;
  for (; i + k_lanes <= count; i += k_lanes) {
    for (std::size_t k = 0; k < k_lanes; ++k) lanes[k] = std::max(lanes[k], value(i + k));
  }
  for (; i < count; ++i) lanes[0] = std::max(lanes[0], value(i));
  return *std::max_element(lanes.begin(), lanes.end());
}

Ascent ascent_of(std::span<const float> l) {
  const auto drop = [l](std::size_t i) { return double{l[i]} - double{l[i + 1]}; };
  Ascent ascent;
  ascent.largest = largest_of(l.size(), [l](std::size_t i) { return std::abs(double{l[i]}); });
  ascent.drop = l.empty() ? 0 : largest_of(l.size() - 1, drop);
  if (ascent.drop > 0) {
    std::size_t at = 0;
    while (drop(at) != ascent.drop) ++at;
    ascent.at = static_cast<std::int64_t>(at);
  }
  return ascent;
}

// order: L[i+1] - L[i] >= -100 n eps max(max abs(L), 1), per pair; the first matrix with a
// violation is reported with its largest one.
void EighChecker::judge_order(const std::vector<float>& l, Verdict& verdict) const {
  double worst = 0;
  for (std::int64_t b = 0; b < batch_; ++b) {
    const float* values = l.data() + b * n_;
    const Ascent ascent = ascent_of({values, static_cast<std::size_t>(n_)});
    const double allowed = 100 * static_cast<double>(n_) * k_eps * std::max(ascent.largest, 1.0);
    worst = std::max(worst, ascent.drop / allowed);
    if (ascent.drop <= allowed || !verdict.error.empty()) continue;
    verdict.error = fmt::format(
        "eigenvalues are not ascending (matrix {} of {}: L[{}] = {:.8g}, L[{}] = {:.8g}, allowed "
        "drop {:.3g}); sort L and the columns of Q",
        b, batch_, ascent.at, values[ascent.at], ascent.at + 1, values[ascent.at + 1], allowed);
  }
  note_ratio("order", worst, verdict);
}

// All in FP64 from the untouched A:
//   eigen           norm1(A Q - Q diag(L))
//   diagonalization norm1(offdiag(Q^T A Q))       diagnostic
//   orthogonality   norm1(Q^T Q - I)
//   reconstruction  norm1(Q diag(L) Q^T - A)
void EighChecker::add_slice(const Slice& slice, bool diagnostics, Residuals& residuals) {
  Ops& ops = device_.ops();
  const std::int64_t count = slice.count, n = n_;
  const Vectors eigenvalues{slice.l, n};
  Subtrahend q_l;
  q_l.y = slice.q;
  q_l.layout = slice.layout;
  q_l.column_scale = eigenvalues;
  Subtrahend identity;
  identity.identity = true;
  Subtrahend original;
  original.y = slice.a;

  ops.widen(slice.q, slice.layout, {}, count, n, q_.get());
  ops.widen(slice.a, Layout::row_major, {}, count, n, a_.get());
  append(residuals.norm_a, ops.residual_norm1(nullptr, Part::all, original, count, n));

  ops.multiply(a_.get(), Transpose::no, q_.get(), Transpose::no, count, n, product_.get());
  append(residuals.eigen, ops.residual_norm1(product_.get(), Part::all, q_l, count, n));
  if (diagnostics) {
    ops.multiply(q_.get(), Transpose::yes, product_.get(), Transpose::no, count, n, a_.get());
    append(residuals.diagonalization,
           ops.residual_norm1(a_.get(), Part::off_diagonal, {}, count, n));
  }

  ops.multiply(q_.get(), Transpose::yes, q_.get(), Transpose::no, count, n, product_.get());
  append(residuals.orthogonality,
         ops.residual_norm1(product_.get(), Part::all, identity, count, n));

  ops.widen(slice.q, slice.layout, eigenvalues, count, n, a_.get());
  ops.multiply(a_.get(), Transpose::no, q_.get(), Transpose::yes, count, n, product_.get());
  append(residuals.reconstruction,
         ops.residual_norm1(product_.get(), Part::all, original, count, n));
}

void EighChecker::judge_residuals(const Residuals& residuals, bool diagnostics,
                                  Verdict& verdict) const {
  const double n_eps = static_cast<double>(n_) * k_eps;
  const std::vector<double> ones(residuals.eigen.size(), 1.0);
  // eigen: norm1(A Q - Q diag(L)) <= 200 n eps norm1(A)
  const Gate eigen{"eigen", "norm1(A Q - Q diag(L))", 200 * n_eps, residuals.eigen,
                   residuals.norm_a};
  // orthogonality: norm1(Q^T Q - I) <= 100 n eps
  const Gate orthogonality{"orthogonality", "norm1(Q^T Q - I)", 100 * n_eps,
                           residuals.orthogonality, ones};
  // reconstruction: norm1(Q diag(L) Q^T - A) <= 400 n eps norm1(A)
  const Gate reconstruction{"reconstruction", "norm1(Q diag(L) Q^T - A)", 400 * n_eps,
                            residuals.reconstruction, residuals.norm_a};
  for (const Gate* gate : {&eigen, &orthogonality, &reconstruction}) judge(*gate, n_, verdict);

  verdict.figures.push_back(
      {"scaled_eigen_residual", largest_scaled(eigen, n_), eigen.rtol / n_eps});
  verdict.figures.push_back({"scaled_reconstruction_residual", largest_scaled(reconstruction, n_),
                             reconstruction.rtol / n_eps});
  if (diagnostics) {
    verdict.figures.push_back({"scaled_diagonalization_residual",
                               scaled_by_largest(residuals.diagonalization, residuals.norm_a, n_)});
  }
  verdict.figures.push_back({"scaled_orthogonality_residual", largest_scaled(orthogonality, n_),
                             orthogonality.rtol / n_eps});
  const std::array<Figure, 3> rtols{{{"eigen_rtol", eigen.rtol},
                                     {"recon_rtol", reconstruction.rtol},
                                     {"orth_rtol", orthogonality.rtol}}};
  conclude(rtols, batch_, n_, verdict);
}

Verdict EighChecker::check(const float* a, std::span<const float* const> outputs, Layout layout,
                           bool diagnostics) {
  Verdict verdict;
  if (!require_finite(device_, k_outputs, outputs, layout, batch_, n_, verdict)) return verdict;
  judge_order(to_host(device_, outputs[1], batch_ * n_), verdict);
  Residuals residuals;
  slices_.for_each([&](std::int64_t first, std::int64_t count) {
    const std::int64_t at = first * n_ * n_;
    add_slice({a + at, outputs[0] + at, outputs[1] + first * n_, layout, count}, diagnostics,
              residuals);
  });
  judge_residuals(residuals, diagnostics, verdict);
  return verdict;
}

}  // namespace

std::span<const OutputShape> eigh_py_outputs() { return k_outputs; }

double eigh_py_checker_matrix_bytes(std::int64_t n) { return matrix_bytes(n, 3 * 8); }

std::unique_ptr<Checker> make_eigh_py_checker(Device& device, std::int64_t batch, std::int64_t n,
                                              double slice_bytes) {
  return std::make_unique<EighChecker>(device, batch, n, slice_bytes);
}

}  // namespace kbench
