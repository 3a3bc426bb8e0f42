// eigh_py: the matrix cases of the public generator and the gates of the public checker. Written
// against Ops for every device; must not know kernels, timing or output formats.
#include "problems/eigh_py.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "problems/gates.h"
#include "problems/lapack_spectra.h"
#include "problems/slices.h"

namespace kbench {
namespace {

constexpr float k_tiny_rank = 1e-6f;
constexpr float k_cluster_spread = 1e-5f;
constexpr float k_inner_cluster_spread = 1e-6f;

std::int64_t at_least(std::int64_t least, std::int64_t cond) { return std::max(least, cond); }

std::vector<float> rising(const Group& group, std::int64_t n) {
  return group.ops().logspace(-static_cast<float>(at_least(1, group.cond)), 0.0f, n);
}

void scale_both_sides(const Group& group, const std::vector<float>& factors) {
  const DeviceVectors s(group.device(), factors, group.n);
  group.ops().scale(group.a, group.batch, group.n, s.get(), s.get());
}

void symmetrize(const Group& group) { group.ops().symmetrize(group.a, group.batch, group.n); }

void make_dense(const Group& group) {
  symmetrize(group);
  if (group.cond > 0) scale_both_sides(group, decay(group.ops(), group.cond, group.n));
}

std::vector<float> alternating_spectrum(const Group& group) {
  std::vector<float> v = rising(group, group.n);
  for (std::size_t i = 0; i < v.size(); i += 2) v[i] = -v[i];
  return v;
}

void make_spectrum(const Group& group) { plant(group, alternating_spectrum(group)); }

double psd_matrix_bytes(std::int64_t n) { return matrix_bytes(n, 4); }

double psd_bytes(std::int64_t batch, std::int64_t n) {
  const Slices slices(batch, psd_matrix_bytes(n), k_generator_slice_bytes);
  return static_cast<double>(slices.size()) * psd_matrix_bytes(n);
}

// (G G^T) * (1 / n) with the columns of G decaying.
void make_psd(const Group& group) {
  const std::int64_t n = group.n;
  Ops& ops = group.ops();
  const DeviceVectors columns(group.device(), decay(ops, at_least(1, group.cond), n), n);
  const Slices slices(group.batch, psd_matrix_bytes(n), group.slice_bytes);
  const Buffer<float> g(group.device(), slices.size() * n * n);
  slices.for_each([&](std::int64_t first, std::int64_t count) {
    float* a = group.a + first * n * n;
    group.device().copy(g.get(), a, count * n * n * std::int64_t{sizeof(float)});
    ops.scale(g.get(), count, n, {}, columns.get());
    ops.multiply(g.get(), Transpose::no, g.get(), Transpose::yes, count, n, a);
  });
  ops.scale_all(group.a, group.entries(), 1.0f / static_cast<float>(n));
}

// n - rank small values in front of the rising ones of full rank.
std::vector<float> with_tail(const Group& group, std::vector<float> tail) {
  const std::vector<float> head = rising(group, full_rank(group.n));
  tail.insert(tail.end(), head.begin(), head.end());
  return tail;
}

void make_rankdef(const Group& group) {
  const auto deficit = static_cast<std::size_t>(group.n - full_rank(group.n));
  plant(group, with_tail(group, std::vector<float>(deficit, 0.0f)));
}

void make_nearrank(const Group& group) {
  std::vector<float> tail = group.ops().logspace(-2.0f, 0.0f, group.n - full_rank(group.n));
  for (float& value : tail) value *= k_tiny_rank;
  plant(group, with_tail(group, tail));
}

void make_repeated(const Group& group) {
  const std::int64_t levels = std::clamp<std::int64_t>(group.n / 8, 1, 16);
  const std::vector<float> level = group.ops().linspace(-1.0f, 1.0f, levels);
  const std::int64_t copies = (group.n + levels - 1) / levels;
  std::vector<float> v;
  for (std::int64_t i = 0; i < group.n; ++i)
    v.push_back(level[static_cast<std::size_t>(i / copies)]);
  plant(group, v);
}

void make_clustered(const Group& group) {
  const std::vector<float> c = group.ops().linspace(-1.0f, 1.0f, group.n);
  const std::size_t n = c.size();
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; ++i) {
    const bool inner = i >= n / 3 && i < 2 * n / 3;
    const float shift = (inner ? k_inner_cluster_spread : k_cluster_spread) * c[i];
    v[i] = (inner || c[i] > 0 ? 1.0f : -1.0f) + shift;
  }
  std::sort(v.begin(), v.end());
  plant(group, v);
}

void make_diagonal(const Group& group) {
  const DeviceVectors values(group.device(), alternating_spectrum(group), group.n);
  group.ops().set_diagonal(group.a, group.batch, group.n, values.get());
}

void make_band(const Group& group) {
  symmetrize(group);
  keep_narrow_band(group);
  const DeviceVectors values(group.device(), group.ops().linspace(-1.0f, 1.0f, group.n), group.n);
  group.ops().add_diagonal(group.a, group.batch, group.n, values.get());
}

void make_rowscale(const Group& group) {
  symmetrize(group);
  scale_both_sides(group, decay(group.ops(), at_least(4, group.cond), group.n));
}

constexpr std::array<MatrixCase, 10> k_cases{{
    {"dense", true, 6, make_dense, nullptr},
    {"spectrum", false, 1, make_spectrum, plant_bytes},
    {"psd", true, 2, make_psd, psd_bytes},
    {"rankdef", false, 1, make_rankdef, plant_bytes},
    {"nearrank", false, 1, make_nearrank, plant_bytes},
    {"repeated", false, 1, make_repeated, plant_bytes},
    {"clustered", false, 1, make_clustered, plant_bytes},
    {"diagonal", false, 0, make_diagonal, nullptr},
    {"band", true, 1, make_band, nullptr},
    {"rowscale", true, 1, make_rowscale, nullptr},
}};

constexpr std::array<OutputShape, 2> k_outputs{{{"Q", 3}, {"L", 2}}};

const LapackType* find_lapack_type(std::string_view name) {
  for (const LapackType& type : lapack_types()) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

double input_bytes(const Case& spec) {
  const LapackType* type = find_lapack_type(spec.kind);
  const bool planted = type != nullptr && (type->shape == LapackType::Shape::dense ||
                                           type->shape == LapackType::Shape::band);
  return generator_bytes(k_cases, spec.kind, spec.batch, spec.n) +
         (planted ? plant_bytes(spec.batch, spec.n) : 0);
}

// Q, A and a product in FP64.
double checker_matrix_bytes(std::int64_t n) { return matrix_bytes(n, 3 * 8); }

class EighChecker : public Checker {
 public:
  EighChecker(Device& device, std::int64_t batch, std::int64_t n, double slice_bytes)
      : device_(device),
        batch_(batch),
        n_(n),
        slices_(batch, checker_matrix_bytes(n), slice_bytes),
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

// order: L[i+1] - L[i] >= -100 n eps max(max abs(L), 1), per pair; the first violation is reported.
void EighChecker::judge_order(const std::vector<float>& l, Verdict& verdict) const {
  double worst = 0;
  for (std::int64_t b = 0; b < batch_; ++b) {
    const float* values = l.data() + b * n_;
    double largest = 1;
    for (std::int64_t i = 0; i < n_; ++i) {
      largest = std::max(largest, std::abs(double{values[i]}));
    }
    const double allowed = 100 * static_cast<double>(n_) * k_eps * largest;
    for (std::int64_t i = 0; i + 1 < n_; ++i) {
      const double drop = double{values[i]} - double{values[i + 1]};
      worst = std::max(worst, drop / allowed);
      if (drop <= allowed || !verdict.error.empty()) continue;
      verdict.error = fmt::format(
          "eigenvalues are not ascending (matrix {} of {}: L[{}] = {:.8g}, L[{}] = {:.8g}, allowed "
          "drop {:.3g}); sort L and the columns of Q",
          b, batch_, i, values[i], i + 1, values[i + 1], allowed);
    }
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

  verdict.figures.push_back({"scaled_eigen_residual", largest_scaled(eigen, n_)});
  verdict.figures.push_back({"scaled_reconstruction_residual", largest_scaled(reconstruction, n_)});
  if (diagnostics) {
    verdict.figures.push_back({"scaled_diagonalization_residual",
                               scaled_by_largest(residuals.diagonalization, residuals.norm_a, n_)});
  }
  verdict.figures.push_back({"scaled_orthogonality_residual", largest_scaled(orthogonality, n_)});
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

// Largest asymmetry a user's matrix may have: norm1(A - A^T) <= n eps norm1(A), rounding of the
// sums that made it. A solver reads one triangle only, the gates read both.
void require_symmetric(Device& device, const Case& spec, const float* a) {
  const std::int64_t n = spec.n;
  const Slices slices(spec.batch, matrix_bytes(n, 8), k_validation_slice_bytes);
  const Buffer<double> wide(device, slices.size() * n * n);
  slices.for_each([&](std::int64_t first, std::int64_t count) {
    Subtrahend mirrored, original;
    mirrored.y = original.y = a + first * n * n;
    mirrored.layout = Layout::column_major;
    device.ops().widen(original.y, Layout::row_major, {}, count, n, wide.get());
    const auto asymmetry = device.ops().residual_norm1(wide.get(), Part::all, mirrored, count, n);
    const auto norms = device.ops().residual_norm1(nullptr, Part::all, original, count, n);
    for (std::size_t b = 0; b < norms.size(); ++b) {
      const double allowed = static_cast<double>(n) * k_eps * norms[b];
      if (asymmetry[b] <= allowed) continue;
      throw Error(
          ExitCode::case_failed,
          fmt::format("the input is not symmetric (matrix {} of {}: norm1(A - A^T) = {:.3g}, "
                      "allowed {:.3g}); give 0.5 (A + A^T)",
                      first + static_cast<std::int64_t>(b), spec.batch, asymmetry[b], allowed));
    }
  });
}

class EighPy : public Problem {
 public:
  EighPy() {
    info_.name = "eigh_py";
    info_.summary = "FP32 eigendecomposition of a batch of symmetric matrices";
    for (const MatrixCase& row : k_cases) info_.cases.push_back(row.name);
    info_.cases.push_back("mixed");
    for (const LapackType& type : lapack_types()) info_.cases.push_back(type.name);
    for (const OutputShape& shape : k_outputs) info_.output_names.push_back(shape.name);
    // 4/3 n^3 of the tridiagonalisation and 2 n^3 of the back-transformation; A read once, Q and L
    // written once.
    info_.nominal_flops = [](std::int64_t batch, std::int64_t n) {
      return (4.0 / 3.0 + 2.0) * batch_cubes(batch, n);
    };
    info_.nominal_bytes = [](std::int64_t batch, std::int64_t n) {
      return static_cast<double>(batch) * (matrix_bytes(n, 8) + 4 * static_cast<double>(n));
    };
  }

  const ProblemInfo& info() const override { return info_; }
  std::span<const OutputShape> outputs() const override { return k_outputs; }

  void generate(Device& device, const Case& spec, std::int64_t seed, float* a) const override {
    TorchGenerator draws(device, static_cast<std::uint64_t>(seed));
    generate_eigh_py(draws, spec, a);
  }

  void validate_input(Device& device, const Case& spec, const float* a) const override {
    require_finite_input(device, a, spec.batch, spec.n);
    require_symmetric(device, spec, a);
  }

  std::unique_ptr<Checker> make_checker(Device& device, std::int64_t batch,
                                        std::int64_t n) const override {
    return make_eigh_py_checker(device, batch, n, k_checker_slice_bytes);
  }

  std::int64_t scratch_bytes(const Case& spec) const override {
    const Slices slices(spec.batch, checker_matrix_bytes(spec.n), k_checker_slice_bytes);
    const double checker = static_cast<double>(slices.size()) * checker_matrix_bytes(spec.n);
    return to_bytes(std::max(checker, input_bytes(spec)) + ops_bytes(spec.batch, spec.n));
  }

 private:
  ProblemInfo info_;
};

}  // namespace

const Problem& eigh_py() {
  static const EighPy problem;
  return problem;
}

std::span<const MatrixCase> eigh_py_cases() { return k_cases; }

void generate_eigh_py(TorchGenerator& draws, const Case& spec, float* a) {
  const Group group{draws, a, spec.batch, spec.n, spec.cond};
  if (const LapackType* type = find_lapack_type(spec.kind))
    return make_lapack_matrices(*type, group);
  make_matrices(k_cases, spec.kind, group);
  // Rounding of the scaled cases is not symmetric; the reference does this for every case.
  symmetrize(group);
}

std::unique_ptr<Checker> make_eigh_py_checker(Device& device, std::int64_t batch, std::int64_t n,
                                              double slice_bytes) {
  return std::make_unique<EighChecker>(device, batch, n, slice_bytes);
}

}  // namespace kbench
