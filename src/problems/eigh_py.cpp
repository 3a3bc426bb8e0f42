// eigh_py: the matrix cases of the public generator and how they are renewed. Written against Ops
// for every device; must not know the gates (eigh_py_checker), kernels, timing or output formats.
#include "problems/eigh_py.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

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
    {"dense", true, 6, make_dense, nullptr, false, true},
    {"spectrum", false, 1, make_spectrum, plant_bytes, true},
    {"psd", true, 2, make_psd, psd_bytes, false, true},
    {"rankdef", false, 1, make_rankdef, plant_bytes, true},
    {"nearrank", false, 1, make_nearrank, plant_bytes, true},
    {"repeated", false, 1, make_repeated, plant_bytes, true},
    {"clustered", false, 1, make_clustered, plant_bytes, true},
    {"diagonal", false, 0, make_diagonal, nullptr},
    {"band", true, 1, make_band, nullptr},
    {"rowscale", true, 1, make_rowscale, nullptr},
}};

const LapackType* find_lapack_type(std::string_view name) {
  for (const LapackType& type : lapack_types()) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

bool is_planted(const LapackType& type) {
  return type.shape == LapackType::Shape::dense || type.shape == LapackType::Shape::band;
}

double input_bytes(const Case& spec) {
  const LapackType* type = find_lapack_type(spec.kind);
  const bool planted = type != nullptr && is_planted(*type);
  return generator_bytes(k_cases, spec.kind, spec.batch, spec.n) +
         (planted ? plant_bytes(spec.batch, spec.n) : 0);
}

Renewal renewal_of(const LapackType& type) {
  using Shape = LapackType::Shape;
  if (type.shape == Shape::zero || type.shape == Shape::identity) return Renewal::fixed;
  return is_planted(type) ? Renewal::moved : Renewal::drawn;
}

// A band must stay one, and the cases of extreme magnitude must keep it.
MatrixMoves moves_of(const LapackType& type) {
  const bool band = type.shape == LapackType::Shape::band;
  return {band ? Moves::signs : Moves::order, !band && type.scale == 1};
}

// A planted spectrum has no structure that an order could break; everything else in a mixed batch
// keeps its band or its grading.
std::vector<MatrixMoves> mixed_moves(Device& device, const Case& spec, std::int64_t seed) {
  TorchGenerator draws(device, static_cast<std::uint64_t>(seed));
  std::vector<MatrixMoves> moves;
  for (const MatrixCase* row : mixed_rows(draws, k_cases, spec.batch, spec.n)) {
    moves.push_back({row->planted ? Moves::order : Moves::signs, true});
  }
  return moves;
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
    for (const OutputShape& shape : eigh_py_outputs()) info_.output_names.push_back(shape.name);
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
  std::span<const OutputShape> outputs() const override { return eigh_py_outputs(); }

  void generate(Device& device, const Case& spec, std::int64_t seed, float* a) const override {
    TorchGenerator draws(device, static_cast<std::uint64_t>(seed));
    generate_eigh_py(draws, spec, a);
  }

  // `diagonal` does not depend on its seed: its values change places instead.
  Renewal renewal(const Case& spec) const override {
    if (!spec.input_path.empty() || spec.kind == "mixed" || spec.kind == "diagonal") {
      return Renewal::moved;
    }
    if (const LapackType* type = find_lapack_type(spec.kind)) return renewal_of(*type);
    const MatrixCase* row = find_case(k_cases, spec.kind);
    KBENCH_ASSERT(row != nullptr);
    return row->planted ? Renewal::moved : Renewal::drawn;
  }

  // A user's own matrices change order and signs, but not magnitude: that may be at either end of
  // the range of numbers.
  Arrangement arrange(Device& device, const Case& spec, std::int64_t seed,
                      std::uint64_t fresh) const override {
    const bool own = !spec.input_path.empty();
    const LapackType* type = find_lapack_type(spec.kind);
    if (!own && spec.kind == "mixed") {
      return Arrangement(device, spec.n, mixed_moves(device, spec, seed), fresh);
    }
    const MatrixMoves same =
        type != nullptr && !own ? moves_of(*type) : MatrixMoves{Moves::order, !own};
    const std::vector<MatrixMoves> moves(static_cast<std::size_t>(spec.batch), same);
    return Arrangement(device, spec.n, moves, fresh);
  }

  bool needs_nominal_flops(const Case& spec) const override {
    const MatrixCase* row = find_case(k_cases, spec.kind);
    return spec.input_path.empty() && row != nullptr && row->unstructured;
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
    const Slices slices(spec.batch, eigh_py_checker_matrix_bytes(spec.n), k_checker_slice_bytes);
    const double checker =
        static_cast<double>(slices.size()) * eigh_py_checker_matrix_bytes(spec.n);
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

}  // namespace kbench
