// Types 1 to 18 of LAPACK's eigenvalue tests (see its dchkst/ddrvst) as the public generator builds
// them. Knows values and draws; must not know the checker.
#include "problems/lapack_spectra.h"

#include <array>
#include <cmath>

namespace kbench {
namespace {

constexpr float k_ulp = 0x1p-22f;                   // twice the FP32 epsilon
constexpr float k_log10_ulp = -6.622659904607587f;  // log10(k_ulp)
constexpr float k_high = 0x1.fffffep+63f;           // sqrt(FLT_MAX)
constexpr float k_low = 0x1p-63f;                   // sqrt(FLT_MIN)

using Shape = LapackType::Shape;
using Spectrum = LapackType::Spectrum;

constexpr std::array<LapackType, 18> k_types{{
    {"lapack_zero", Shape::zero, Spectrum::none, 1},
    {"lapack_identity", Shape::identity, Spectrum::none, 1},
    {"lapack_diag_even_spectrum", Shape::diagonal, Spectrum::even, 1},
    {"lapack_diag_geometric_spectrum", Shape::diagonal, Spectrum::geometric, 1},
    {"lapack_diag_clustered_spectrum", Shape::diagonal, Spectrum::clustered, 1},
    {"lapack_diag_geometric_high_magnitude", Shape::diagonal, Spectrum::geometric, k_high},
    {"lapack_diag_geometric_low_magnitude", Shape::diagonal, Spectrum::geometric, k_low},
    {"lapack_dense_even_spectrum", Shape::dense, Spectrum::even, 1},
    {"lapack_dense_geometric_spectrum", Shape::dense, Spectrum::geometric, 1},
    {"lapack_dense_clustered_spectrum", Shape::dense, Spectrum::clustered, 1},
    {"lapack_dense_even_high_magnitude", Shape::dense, Spectrum::even, k_high},
    {"lapack_dense_even_low_magnitude", Shape::dense, Spectrum::even, k_low},
    {"lapack_random_symmetric", Shape::random, Spectrum::none, 1},
    {"lapack_random_symmetric_high_magnitude", Shape::random, Spectrum::none, k_high},
    {"lapack_random_symmetric_low_magnitude", Shape::random, Spectrum::none, k_low},
    {"lapack_band_even_spectrum", Shape::band, Spectrum::even, 1},
    {"lapack_band_even_high_magnitude", Shape::band, Spectrum::even, k_high},
    {"lapack_band_even_low_magnitude", Shape::band, Spectrum::even, k_low},
}};

std::vector<float> magnitudes(Spectrum spectrum, Ops& ops, std::int64_t n) {
  if (spectrum == Spectrum::even) return ops.linspace(1.0f, k_ulp, n);
  if (spectrum == Spectrum::geometric) return ops.logspace(0.0f, k_log10_ulp, n);
  std::vector<float> values(static_cast<std::size_t>(n), k_ulp);
  values[0] = 1.0f;
  return values;
}

// [batch * n]: magnitude times a random sign, then times the scale.
std::vector<float> signed_values(const LapackType& type, const Group& group) {
  const std::vector<float> size = magnitudes(type.spectrum, group.ops(), group.n);
  const std::vector<std::int64_t> bits = group.draws.integers(0, 2, group.batch * group.n);
  std::vector<float> values(bits.size());
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const float sign = bits[i] == 1 ? 1.0f : -1.0f;
    values[i] = sign * size[i % size.size()] * type.scale;
  }
  return values;
}

void make_diagonal(const LapackType& type, const Group& group) {
  const DeviceVectors values(group.device(), signed_values(type, group), group.n);
  group.ops().set_diagonal(group.a, group.batch, group.n, values.get());
}

void make_random(const LapackType& type, const Group& group) {
  group.draws.uniform(group.entries(), group.a);
  group.ops().symmetrize(group.a, group.batch, group.n);
  group.ops().scale_all(group.a, group.entries(), type.scale);
}

void make_band(const LapackType& type, const Group& group) {
  plant(group, signed_values(type, group));
  const std::vector<std::int64_t> widths = group.draws.integers(0, group.n, group.batch);
  const Buffer<std::int64_t> on_device = to_device<std::int64_t>(group.device(), widths);
  group.ops().keep_band(group.a, group.batch, group.n, on_device.get());
}

}  // namespace

std::span<const LapackType> lapack_types() { return k_types; }

void make_lapack_matrices(const LapackType& type, const Group& group) {
  switch (type.shape) {
    case Shape::zero:
      group.device().fill(group.a, 0, group.entries() * std::int64_t{sizeof(float)});
      return;
    case Shape::identity:
      group.ops().set_diagonal(group.a, group.batch, group.n, {});
      return;
    case Shape::diagonal:
      make_diagonal(type, group);
      return;
    case Shape::dense:
      plant(group, signed_values(type, group));
      return;
    case Shape::random:
      make_random(type, group);
      return;
    case Shape::band:
      make_band(type, group);
      return;
  }
}

}  // namespace kbench
