// Steps and families shared by the problems. Written against Ops; must not know which problem a
// case belongs to.
#include "problems/families.h"

#include <algorithm>

namespace kbench {
namespace {

double plant_matrix_bytes(std::int64_t n) {
  // Two FP32 matrices (reflectors, Q), tau and signs.
  return matrix_bytes(n, 8) + 8 * static_cast<double>(n);
}

std::vector<const MatrixCase*> mixed_profiles(std::span<const MatrixCase> table) {
  std::vector<const MatrixCase*> profiles;
  for (const MatrixCase& row : table) {
    if (row.mix_weight > 0) profiles.push_back(&row);
  }
  return profiles;
}

void make_profile(const MatrixCase& row, const Group& whole,
                  const std::vector<std::int64_t>& positions, float* matrices) {
  const Buffer<std::int64_t> index = to_device<std::int64_t>(whole.device(), positions);
  Group group = whole;
  group.a = matrices;
  group.batch = static_cast<std::int64_t>(positions.size());
  whole.ops().gather(whole.a, index.get(), group.batch, group.n, group.a);
  row.make(group);
  whole.ops().scatter(group.a, index.get(), group.batch, group.n, whole.a);
}

void make_mixed(std::span<const MatrixCase> table, const Group& group) {
  group.draws.normal(group.entries(), group.a);
  const std::vector<std::int64_t> labels = mixed_labels(group.draws, table, group.batch);
  const std::vector<const MatrixCase*> profiles = mixed_profiles(table);

  std::vector<std::vector<std::int64_t>> positions(profiles.size());
  for (std::size_t b = 0; b < labels.size(); ++b) {
    positions[static_cast<std::size_t>(labels[b])].push_back(static_cast<std::int64_t>(b));
  }
  std::size_t most = 0;
  for (const auto& list : positions) most = std::max(most, list.size());
  const Buffer<float> matrices(group.device(), static_cast<std::int64_t>(most) * group.n * group.n);
  for (std::size_t k = 0; k < profiles.size(); ++k) {
    if (!positions[k].empty()) make_profile(*profiles[k], group, positions[k], matrices.get());
  }
}

Vectors from_matrix(Vectors vectors, std::int64_t first) {
  return {vectors.data + first * vectors.stride, vectors.stride};
}

}  // namespace

std::vector<std::int64_t> mixed_labels(TorchGenerator& draws, std::span<const MatrixCase> table,
                                       std::int64_t batch) {
  std::vector<float> weights;
  for (const MatrixCase* row : mixed_profiles(table)) weights.push_back(row->mix_weight);
  std::vector<std::int64_t> labels = draws.multinomial(weights, batch);
  if (batch < 2) return labels;

  const auto is_first = [](std::int64_t label) { return label == 0; };
  const auto position = [&] { return static_cast<std::size_t>(draws.integers(0, batch, 1)[0]); };
  if (std::none_of(labels.begin(), labels.end(), is_first)) labels[position()] = 0;
  if (std::all_of(labels.begin(), labels.end(), is_first)) {
    const std::size_t at = position();
    labels[at] = draws.integers(1, static_cast<std::int64_t>(weights.size()), 1)[0];
  }
  return labels;
}

std::vector<const MatrixCase*> mixed_rows(TorchGenerator& draws, std::span<const MatrixCase> table,
                                          std::int64_t batch, std::int64_t n) {
  draws.skip_normal(batch * n * n);
  const std::vector<const MatrixCase*> profiles = mixed_profiles(table);
  std::vector<const MatrixCase*> rows;
  for (const std::int64_t label : mixed_labels(draws, table, batch)) {
    rows.push_back(profiles[static_cast<std::size_t>(label)]);
  }
  return rows;
}

const MatrixCase* find_case(std::span<const MatrixCase> table, std::string_view name) {
  const auto row =
      std::find_if(table.begin(), table.end(), [&](const MatrixCase& r) { return r.name == name; });
  return row == table.end() ? nullptr : &*row;
}

void make_matrices(std::span<const MatrixCase> table, std::string_view name, const Group& group) {
  if (name == "mixed") return make_mixed(table, group);
  const MatrixCase* row = find_case(table, name);
  KBENCH_ASSERT(row != nullptr);
  if (row->uses_base) {
    group.draws.normal(group.entries(), group.a);
  } else {
    group.draws.skip_normal(group.entries());
  }
  row->make(group);
}

double generator_bytes(std::span<const MatrixCase> table, std::string_view name, std::int64_t batch,
                       std::int64_t n) {
  const bool mixed = name == "mixed";
  double temporaries = 0;
  for (const MatrixCase& row : table) {
    const bool used = mixed ? row.mix_weight > 0 : row.name == name;
    if (used && row.temporary_bytes != nullptr) {
      temporaries = std::max(temporaries, row.temporary_bytes(batch, n));
    }
  }
  const double matrices = static_cast<double>(batch);
  // A mixed batch may be nearly all of one profile, which is then copied out and back.
  const double copy = mixed ? matrices * matrix_bytes(n, 4) : 0;
  // At most three vectors or index lists of 8 bytes an entry are alive at once.
  const double vectors = 24 * (matrices + 1) * (static_cast<double>(n) + 1);
  return temporaries + copy + vectors;
}

DeviceVectors::DeviceVectors(Device& device, const std::vector<float>& values, std::int64_t n)
    : buffer_(to_device<float>(device, values)),
      vectors_{buffer_.get(), static_cast<std::int64_t>(values.size()) == n ? 0 : n} {}

std::int64_t full_rank(std::int64_t n) { return std::max<std::int64_t>(1, 3 * n / 4); }

std::vector<float> decay(Ops& ops, std::int64_t exponent, std::int64_t n) {
  return ops.logspace(0.0f, -static_cast<float>(exponent), n);
}

void keep_narrow_band(const Group& group) {
  const std::int64_t width = std::clamp<std::int64_t>(group.n / 32, 2, 32);
  const std::vector<std::int64_t> widths(static_cast<std::size_t>(group.batch), width);
  const Buffer<std::int64_t> on_device = to_device<std::int64_t>(group.device(), widths);
  group.ops().keep_band(group.a, group.batch, group.n, on_device.get());
}

void plant(const Group& group, const std::vector<float>& v) {
  group.draws.normal(group.entries(), group.a);
  const std::int64_t n = group.n;
  Device& device = group.device();
  Ops& ops = group.ops();
  const Slices slices(group.batch, plant_matrix_bytes(n), group.slice_bytes);
  const Buffer<float> factor(device, slices.size() * n * n), q(device, slices.size() * n * n);
  const Buffer<float> tau(device, slices.size() * n), signs(device, slices.size() * n);
  const DeviceVectors values(device, v, n);
  slices.for_each([&](std::int64_t first, std::int64_t count) {
    float* a = group.a + first * n * n;
    ops.transpose(a, count, n, factor.get());
    ops.geqrf(factor.get(), count, n, tau.get());
    ops.diagonal_signs(factor.get(), count, n, signs.get());
    ops.form_q(factor.get(), Layout::column_major, tau.get(), count, n, q.get());
    ops.scale(q.get(), count, n, {}, {signs.get(), n});
    device.copy(factor.get(), q.get(), count * n * n * std::int64_t{sizeof(float)});
    ops.scale(factor.get(), count, n, {}, from_matrix(values.get(), first));
    ops.multiply(factor.get(), Transpose::no, q.get(), Transpose::yes, count, n, a);
  });
  ops.symmetrize(group.a, group.batch, n);
}

double plant_bytes(std::int64_t batch, std::int64_t n) {
  const Slices slices(batch, plant_matrix_bytes(n), k_generator_slice_bytes);
  return static_cast<double>(slices.size()) * plant_matrix_bytes(n);
}

}  // namespace kbench
