// qr_v2: the matrix cases of the public generator and the gates of the public checker. Written
// against Ops for every device; must not know kernels, timing or output formats.
#include "problems/qr_v2.h"

#include <algorithm>
#include <array>

#include "problems/gates.h"
#include "problems/slices.h"

namespace kbench {
namespace {

constexpr float k_noise_nearrank = 1e-5f;
constexpr float k_noise_nearcollinear = 1e-4f;
constexpr float k_four_eps = 0x1p-21f;
constexpr float k_sqrt_eps = 0x1.6a09e6p-12f;

void scale_columns(const Group& group, const std::vector<float>& factors) {
  const DeviceVectors columns(group.device(), factors, group.n);
  group.ops().scale(group.a, group.batch, group.n, {}, columns.get());
}

void add_to_diagonal(const Group& group, float first, float last) {
  const DeviceVectors values(group.device(), group.ops().linspace(first, last, group.n), group.n);
  group.ops().add_diagonal(group.a, group.batch, group.n, values.get());
}

// Columns times 10^0 .. 10^-cond; without cond there is no multiplication.
void condition_columns(const Group& group) {
  if (group.cond > 0) scale_columns(group, decay(group.ops(), group.cond, group.n));
}

void make_upper(const Group& group) {
  group.ops().keep_upper(group.a, group.batch, group.n);
  add_to_diagonal(group, 1.0f, 0.25f);
  condition_columns(group);
}

void make_diagonal(const Group& group) {
  const std::int64_t count = group.batch * group.n;
  const Buffer<float> drawn(group.device(), count);
  group.draws.normal(count, drawn.get());
  std::vector<float> values = to_host(group.device(), drawn.get(), count);
  const std::vector<float> size =
      decay(group.ops(), std::max<std::int64_t>(group.cond, 2), group.n);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = (values[i] > 0 ? 1.0f : -1.0f) * size[i % size.size()];
  }
  const DeviceVectors diagonal(group.device(), values, group.n);
  group.ops().set_diagonal(group.a, group.batch, group.n, diagonal.get());
}

void make_rankdef(const Group& group) {
  group.ops().zero_columns(group.a, group.batch, group.n, full_rank(group.n));
  condition_columns(group);
}

double nearrank_bytes(std::int64_t batch, std::int64_t n) {
  return 4 * static_cast<double>(batch) * static_cast<double>(n) *
         static_cast<double>(n - full_rank(n));
}

// The last quarter of the columns repeats the first, with noise.
void make_nearrank(const Group& group) {
  const std::int64_t rank = full_rank(group.n), tail = group.n - rank;
  if (tail > 0) {
    const std::int64_t count = group.batch * group.n * tail;
    const Buffer<float> noise(group.device(), count);
    group.draws.normal(count, noise.get());
    group.ops().repeat_columns(group.a, group.batch, group.n, rank, noise.get(), k_noise_nearrank);
  }
  condition_columns(group);
}

// Columns of size 1 and 4 eps with four of sqrt(eps) at the border.
void make_clustered(const Group& group) {
  const std::int64_t n = group.n;
  std::vector<float> size(static_cast<std::size_t>(n), 1.0f);
  std::fill(size.begin() + n / 2, size.end(), k_four_eps);
  if (n >= 8) std::fill_n(size.begin() + n / 2 - 2, 4, k_sqrt_eps);
  scale_columns(group, size);
}

void make_band(const Group& group) {
  keep_narrow_band(group);
  add_to_diagonal(group, 1.0f, 0.5f);
  condition_columns(group);
}

void make_rowscale(const Group& group) {
  const std::int64_t exponent = std::max<std::int64_t>(group.cond, 4);
  const DeviceVectors rows(group.device(), decay(group.ops(), exponent, group.n), group.n);
  group.ops().scale(group.a, group.batch, group.n, rows.get(), {});
}

void make_nearcollinear(const Group& group) {
  const Buffer<float> base(group.device(), group.batch * group.n);
  group.draws.normal(base.count(), base.get());
  group.draws.normal(group.entries(), group.a);
  group.ops().near_columns(group.a, group.batch, group.n, base.get(), group.a,
                           k_noise_nearcollinear);
  condition_columns(group);
}

constexpr std::array<MatrixCase, 9> k_cases{{
    {"dense", true, 6, condition_columns, nullptr, false, true},
    {"upper", true, 0, make_upper, nullptr},
    {"diagonal", false, 0, make_diagonal, nullptr},
    {"rankdef", true, 1, make_rankdef, nullptr},
    {"nearrank", true, 1, make_nearrank, nearrank_bytes},
    {"clustered", true, 1, make_clustered, nullptr},
    {"band", true, 1, make_band, nullptr},
    {"rowscale", true, 1, make_rowscale, nullptr, false, true},
    {"nearcollinear", false, 1, make_nearcollinear, nullptr, false, true},
}};

constexpr std::array<OutputShape, 2> k_outputs{{{"H", 3}, {"tau", 2}}};

// Q in FP32, and Q, A and a product in FP64.
double checker_matrix_bytes(std::int64_t n) { return matrix_bytes(n, 4 + 3 * 8); }

class QrChecker : public Checker {
 public:
  QrChecker(Device& device, std::int64_t batch, std::int64_t n, double slice_bytes)
      : device_(device),
        batch_(batch),
        n_(n),
        slices_(batch, checker_matrix_bytes(n), slice_bytes),
        narrow_(device, slices_.size() * n * n),
        q_(device, slices_.size() * n * n),
        a_(device, slices_.size() * n * n),
        product_(device, slices_.size() * n * n) {}

  Verdict check(const float* a, std::span<const float* const> outputs, Layout layout,
                bool diagnostics) override;

 private:
  struct Residuals {
    std::vector<double> norm_a, factor, orthogonality, reconstruction, triangular;
  };
  struct Slice {
    const float *a, *h, *tau;
    Layout layout;
    std::int64_t count;
  };

  void add_slice(const Slice& slice, bool diagnostics, Residuals& residuals);
  void add_reconstruction(const Slice& slice, Residuals& residuals);
  Verdict judge_all(const Residuals& residuals, bool diagnostics) const;

  Device& device_;
  std::int64_t batch_, n_;
  Slices slices_;
  Buffer<float> narrow_;
  Buffer<double> q_, a_, product_;
};

// Q = H_1 ... H_n formed in FP32, as the public checker does; everything after it in FP64:
//   factor         norm1(triu(H) - Q^T A)
//   orthogonality  norm1(Q^T Q - I)
//   triangular     norm1(strict_lower(Q^T A))      diagnostic
//   reconstruction norm1(Q triu(H) - A)            diagnostic
void QrChecker::add_slice(const Slice& slice, bool diagnostics, Residuals& residuals) {
  Ops& ops = device_.ops();
  const std::int64_t count = slice.count, n = n_;
  Subtrahend r;
  r.y = slice.h;
  r.layout = slice.layout;
  r.part = Part::upper;
  Subtrahend identity;
  identity.identity = true;
  Subtrahend original;
  original.y = slice.a;

  ops.form_q(slice.h, slice.layout, slice.tau, count, n, narrow_.get());
  ops.widen(narrow_.get(), Layout::row_major, {}, count, n, q_.get());
  ops.widen(slice.a, Layout::row_major, {}, count, n, a_.get());
  append(residuals.norm_a, ops.residual_norm1(nullptr, Part::all, original, count, n));

  ops.multiply(q_.get(), Transpose::yes, a_.get(), Transpose::no, count, n, product_.get());
  append(residuals.factor, ops.residual_norm1(product_.get(), Part::all, r, count, n));
  if (diagnostics) {
    append(residuals.triangular,
           ops.residual_norm1(product_.get(), Part::strict_lower, {}, count, n));
  }

  ops.multiply(q_.get(), Transpose::yes, q_.get(), Transpose::no, count, n, product_.get());
  append(residuals.orthogonality,
         ops.residual_norm1(product_.get(), Part::all, identity, count, n));
  if (diagnostics) add_reconstruction(slice, residuals);
}

void QrChecker::add_reconstruction(const Slice& slice, Residuals& residuals) {
  Ops& ops = device_.ops();
  const std::int64_t count = slice.count, n = n_;
  if (slice.layout == Layout::row_major) {
    device_.copy(narrow_.get(), slice.h, count * n * n * std::int64_t{sizeof(float)});
  } else {
    ops.transpose(slice.h, count, n, narrow_.get());
  }
  ops.keep_upper(narrow_.get(), count, n);
  ops.widen(narrow_.get(), Layout::row_major, {}, count, n, a_.get());
  ops.multiply(q_.get(), Transpose::no, a_.get(), Transpose::no, count, n, product_.get());
  Subtrahend original;
  original.y = slice.a;
  append(residuals.reconstruction,
         ops.residual_norm1(product_.get(), Part::all, original, count, n));
}

Verdict QrChecker::judge_all(const Residuals& residuals, bool diagnostics) const {
  const double n_eps = static_cast<double>(n_) * k_eps;
  const std::vector<double> ones(residuals.factor.size(), 1.0);
  // factor: norm1(R - Q^T A) <= 20 n eps norm1(A)
  const Gate factor{"factor", "norm1(R - Q^T A)", 20 * n_eps, residuals.factor, residuals.norm_a};
  // orthogonality: norm1(Q^T Q - I) <= 100 n eps
  const Gate orthogonality{"orthogonality", "norm1(Q^T Q - I)", 100 * n_eps,
                           residuals.orthogonality, ones};
  Verdict verdict;
  judge(factor, n_, verdict);
  judge(orthogonality, n_, verdict);

  verdict.figures.push_back(
      {"scaled_factor_residual", largest_scaled(factor, n_), factor.rtol / n_eps});
  if (diagnostics) {
    verdict.figures.push_back({"scaled_reconstruction_residual",
                               scaled_by_largest(residuals.reconstruction, residuals.norm_a, n_)});
    verdict.figures.push_back({"scaled_triangular_residual",
                               scaled_by_largest(residuals.triangular, residuals.norm_a, n_)});
  }
  verdict.figures.push_back({"scaled_orthogonality_residual", largest_scaled(orthogonality, n_),
                             orthogonality.rtol / n_eps});
  const std::array<Figure, 2> rtols{
      {{"factor_rtol", factor.rtol}, {"orth_rtol", orthogonality.rtol}}};
  conclude(rtols, batch_, n_, verdict);
  return verdict;
}

Verdict QrChecker::check(const float* a, std::span<const float* const> outputs, Layout layout,
                         bool diagnostics) {
  Verdict verdict;
  if (!require_finite(device_, k_outputs, outputs, layout, batch_, n_, verdict)) return verdict;
  Residuals residuals;
  slices_.for_each([&](std::int64_t first, std::int64_t count) {
    const std::int64_t at = first * n_ * n_;
    add_slice({a + at, outputs[0] + at, outputs[1] + first * n_, layout, count}, diagnostics,
              residuals);
  });
  return judge_all(residuals, diagnostics);
}

class QrV2 : public Problem {
 public:
  QrV2() {
    info_.name = "qr_v2";
    info_.summary = "FP32 Householder QR of a batch of square matrices, geqrf's H and tau";
    for (const MatrixCase& row : k_cases) info_.cases.push_back(row.name);
    info_.cases.push_back("mixed");
    for (const OutputShape& shape : k_outputs) info_.output_names.push_back(shape.name);
    // 4/3 n^3 of Householder QR; A read once, H and tau written once.
    info_.nominal_flops = [](std::int64_t batch, std::int64_t n) {
      return 4.0 / 3.0 * batch_cubes(batch, n);
    };
    info_.nominal_bytes = [](std::int64_t batch, std::int64_t n) {
      return static_cast<double>(batch) * (matrix_bytes(n, 8) + 4 * static_cast<double>(n));
    };
  }

  const ProblemInfo& info() const override { return info_; }
  std::span<const OutputShape> outputs() const override { return k_outputs; }

  void generate(Device& device, const Case& spec, std::int64_t seed, float* a) const override {
    TorchGenerator draws(device, static_cast<std::uint64_t>(seed));
    generate_qr_v2(draws, spec, a);
  }

  // A user's own matrices may be a band, triangular or graded, and near either end of the range of
  // numbers: signs of rows and columns keep all of that, an order or a power of two might not.
  Renewal renewal(const Case& spec) const override {
    return spec.input_path.empty() ? Renewal::drawn : Renewal::moved;
  }

  Arrangement arrange(Device& device, const Case& spec, std::int64_t,
                      std::uint64_t fresh) const override {
    const std::vector<MatrixMoves> moves(static_cast<std::size_t>(spec.batch),
                                         {Moves::signs_apart, false});
    return Arrangement(device, spec.n, moves, fresh);
  }

  bool needs_nominal_flops(const Case& spec) const override {
    const MatrixCase* row = find_case(k_cases, spec.kind);
    return spec.input_path.empty() && row != nullptr && row->unstructured;
  }

  void validate_input(Device& device, const Case& spec, const float* a) const override {
    require_finite_input(device, a, spec.batch, spec.n);
  }

  std::unique_ptr<Checker> make_checker(Device& device, std::int64_t batch,
                                        std::int64_t n) const override {
    return make_qr_v2_checker(device, batch, n, k_checker_slice_bytes);
  }

  std::int64_t scratch_bytes(const Case& spec) const override {
    const Slices slices(spec.batch, checker_matrix_bytes(spec.n), k_checker_slice_bytes);
    const double checker = static_cast<double>(slices.size()) * checker_matrix_bytes(spec.n);
    const double generator = generator_bytes(k_cases, spec.kind, spec.batch, spec.n);
    return to_bytes(std::max(checker, generator) + ops_bytes(spec.batch, spec.n));
  }

 private:
  ProblemInfo info_;
};

}  // namespace

const Problem& qr_v2() {
  static const QrV2 problem;
  return problem;
}

std::span<const MatrixCase> qr_v2_cases() { return k_cases; }

void generate_qr_v2(TorchGenerator& draws, const Case& spec, float* a) {
  make_matrices(k_cases, spec.kind, Group{draws, a, spec.batch, spec.n, spec.cond});
}

std::unique_ptr<Checker> make_qr_v2_checker(Device& device, std::int64_t batch, std::int64_t n,
                                            double slice_bytes) {
  return std::make_unique<QrChecker>(device, batch, n, slice_bytes);
}

}  // namespace kbench
