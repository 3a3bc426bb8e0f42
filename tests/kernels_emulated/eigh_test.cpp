// The eigh_py kernel `tridiagonal` as a whole, on the emulated machine, against the problem's
// gates.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "catch.h"
#include "eigh_run.h"
#include "spectra.h"

using namespace kbench::test;

namespace {

constexpr float k_nan = std::numeric_limits<float>::quiet_NaN();

/// Half of each gate is required; the method leaves far more, and a lost digit shows here first.
void require_passes(const std::vector<float>& a, const Eigenpairs& pairs, int n) {
  const Gates gates = gates_of(a, pairs, n);
  CHECK(gates.eigen <= 0.01);
  CHECK(gates.orthogonality <= 0.03);
  CHECK(gates.reconstruction <= 0.01);
  CHECK(std::is_sorted(pairs.l.begin(), pairs.l.end()));
}

std::vector<float> diagonal(const std::vector<double>& values) {
  std::vector<float> a(values.size() * values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    a[i * values.size() + i] = static_cast<float>(values[i]);
  }
  return a;
}

}  // namespace

TEST_CASE("eigenpairs of every size pass the gates on the emulated machine") {
  std::mt19937 draws(5);
  for (const int n : {1, 2, 3, 4, 31, 32, 33, 64, 65, 66, 130}) {
    INFO("n = " << n);
    const std::vector<float> a = planted(spectrum("spectrum", n), draws);
    require_passes(a, eigenpairs_emulated(a, n, 0, false), n);
  }
}

TEST_CASE("eigenpairs of every spectrum pass the gates on the emulated machine") {
  std::mt19937 draws(6);
  for (const std::string& name : spectrum_names()) {
    for (const int n : {32, 100}) {
      INFO(name << ", n = " << n);
      const std::vector<float> a = planted(spectrum(name, n), draws);
      require_passes(a, eigenpairs_emulated(a, n, 0, false), n);
      const std::vector<float> d = diagonal(spectrum(name, n));
      require_passes(d, eigenpairs_emulated(d, n, 0, false), n);
    }
  }
}

TEST_CASE("the order in which warps run changes no bit of the eigenpairs") {
  std::mt19937 draws(7);
  const std::vector<float> a = planted(spectrum("repeated", 150), draws);
  for (const int ranks : {1, 4, 8}) {
    INFO(ranks << " thread blocks");
    const Eigenpairs forwards = eigenpairs_emulated(a, 150, ranks, false);
    const Eigenpairs backwards = eigenpairs_emulated(a, 150, ranks, true);
    CHECK(forwards.q == backwards.q);
    CHECK(forwards.l == backwards.l);
  }
}

TEST_CASE("extreme magnitudes keep their eigenpairs") {
  std::mt19937 draws(8);
  const std::vector<float> a = planted(spectrum("psd", 40), draws);
  const Eigenpairs plain = eigenpairs_emulated(a, 40, 0, false);
  for (const float scale : {0x1p-60f, 0x1p60f, 0x1p120f}) {
    INFO(scale);
    std::vector<float> scaled = a;
    for (float& value : scaled) value *= scale;
    const Eigenpairs pairs = eigenpairs_emulated(scaled, 40, 0, false);
    CHECK(pairs.q == plain.q);
    CHECK(pairs.l.back() == plain.l.back() * scale);
  }
}

TEST_CASE("a matrix of zeros has eigenvalues that are exactly zero") {
  const std::vector<float> a(33 * 33);
  const Eigenpairs pairs = eigenpairs_emulated(a, 33, 0, false);
  for (const float value : pairs.l) CHECK(value == 0);
  require_passes(a, pairs, 33);
}

TEST_CASE("a NaN in the matrix reaches the result, and the kernel ends") {
  std::vector<float> a(20 * 20, 1.0f);
  a[7 * 20 + 3] = a[3 * 20 + 7] = k_nan;
  const Eigenpairs pairs = eigenpairs_emulated(a, 20, 0, false);
  CHECK(std::any_of(pairs.q.begin(), pairs.q.end(), [](float x) { return std::isnan(x); }));
}
