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
  // A second solve shifts by 32 ulps of a bound that is rarely more than twice the norm.
  const double shift = pairs.flagged == 0 ? 0 : 2 * 32 / (200.0 * n);
  CHECK(gates.eigen <= 0.01 + shift);
  CHECK(gates.orthogonality <= 0.03);
  CHECK(gates.reconstruction <= 0.01 + shift / 2);
  CHECK(std::is_sorted(pairs.l.begin(), pairs.l.end()));
}

/// As nearly every matrix is.
void require_certified(const std::vector<float>& a, const Eigenpairs& pairs, int n) {
  require_passes(a, pairs, n);
  CHECK(pairs.flagged == 0);
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
    require_certified(a, eigenpairs_emulated(a, n, {}), n);
  }
}

TEST_CASE("eigenpairs of every spectrum pass the gates on the emulated machine") {
  std::mt19937 draws(6);
  for (const std::string& name : spectrum_names()) {
    for (const int n : {32, 100}) {
      INFO(name << ", n = " << n);
      const std::vector<float> a = planted(spectrum(name, n), draws);
      require_certified(a, eigenpairs_emulated(a, n, {}), n);
      const std::vector<float> d = diagonal(spectrum(name, n));
      require_certified(d, eigenpairs_emulated(d, n, {}), n);
    }
  }
}

TEST_CASE("a warp alone reduces every matrix that it can hold, and no other") {
  std::mt19937 draws(14);
  Conditions conditions;
  conditions.precise = true;  // up to n = 4 FP16 pairs leave more than require_passes allows
  for (const std::string& name : spectrum_names()) {
    for (const int n : {1, 2, 3, 4, 17, 31, 32}) {
      INFO(name << ", n = " << n);
      const std::vector<float> a = planted(spectrum(name, n), draws);
      const Eigenpairs pairs = eigenpairs_emulated(a, n, conditions);
      CHECK(pairs.in_warp);
      require_certified(a, pairs, n);
      const std::vector<float> d = diagonal(spectrum(name, n));
      require_certified(d, eigenpairs_emulated(d, n, conditions), n);
    }
  }
  const std::vector<float> a = planted(spectrum("spectrum", 33), draws);
  CHECK_FALSE(eigenpairs_emulated(a, 33, conditions).in_warp);
}

TEST_CASE("tridiagonal matrices with exact duplicates are certified on the emulated machine") {
  constexpr int n = 84;
  std::mt19937 draws(11);
  for (const char* name : {"wilkinson", "glued wilkinson 1e-4", "glued wilkinson 1e-10",
                           "glued wilkinson 0", "identity", "second difference"}) {
    INFO(name);
    const Tridiagonal t = tridiagonal_of(name, n, draws);
    std::vector<float> a(n * n);
    for (std::size_t i = 0; i < n; ++i) {
      a[i * n + i] = t.d[i];
      if (i + 1 < n) a[i * n + i + 1] = a[(i + 1) * n + i] = t.e[i];
    }
    require_certified(a, eigenpairs_emulated(a, n, {}), n);
  }
}

TEST_CASE("a pair of eigenvalues that FP64 hardly tells apart is straightened, not solved again") {
  const std::vector<float> a = nearly_degenerate();
  require_certified(a, eigenpairs_emulated(a, k_nearly_degenerate_size, {}),
                    k_nearly_degenerate_size);
}

TEST_CASE("the order in which warps run changes no bit of the eigenpairs") {
  std::mt19937 draws(7);
  const std::vector<float> a = planted(spectrum("repeated", 150), draws);
  for (const int ranks : {1, 4, 8}) {
    INFO(ranks << " thread blocks");
    const Eigenpairs forwards = eigenpairs_emulated(a, 150, {ranks, false});
    const Eigenpairs backwards = eigenpairs_emulated(a, 150, {ranks, true});
    CHECK(forwards.q == backwards.q);
    CHECK(forwards.l == backwards.l);
  }
}

TEST_CASE("extreme magnitudes keep their eigenpairs") {
  std::mt19937 draws(8);
  for (const int n : {30, 40}) {
    const std::vector<float> a = planted(spectrum("psd", n), draws);
    const Eigenpairs plain = eigenpairs_emulated(a, n, {});
    for (const float scale : {0x1p-60f, 0x1p60f, 0x1p120f}) {
      INFO("n = " << n << ", " << scale);
      std::vector<float> scaled = a;
      for (float& value : scaled) value *= scale;
      const Eigenpairs pairs = eigenpairs_emulated(scaled, n, {});
      CHECK(pairs.q == plain.q);
      CHECK(pairs.l.back() == plain.l.back() * scale);
    }
  }
}

TEST_CASE("a matrix of zeros has eigenvalues that are exactly zero") {
  for (const int n : {32, 33}) {
    INFO("n = " << n);
    const std::vector<float> a(static_cast<std::size_t>(n * n));
    const Eigenpairs pairs = eigenpairs_emulated(a, n, {});
    for (const float value : pairs.l) CHECK(value == 0);
    require_passes(a, pairs, n);
  }
}

TEST_CASE("a NaN in the matrix reaches the result, and the kernel ends") {
  for (const std::size_t n : {20, 40}) {
    INFO("n = " << n);
    std::vector<float> a(n * n, 1.0f);
    a[7 * n + 3] = a[3 * n + 7] = k_nan;
    const Eigenpairs pairs = eigenpairs_emulated(a, static_cast<int>(n), {});
    CHECK(std::any_of(pairs.q.begin(), pairs.q.end(), [](float x) { return std::isnan(x); }));
    CHECK(pairs.flagged == 1);
  }
}

TEST_CASE("matrices too large for shared memory are reduced with their vectors outside") {
  struct Row {
    int n, ranks, shared_bytes;
  };
  // Less than the vectors need, more than what has to be in shared memory.
  const Row rows[] = {
      {33, 1, 1000}, {195, 1, 1000}, {130, 2, 7000}, {130, 8, 4500}, {130, 16, 4500}};
  std::mt19937 draws(9);
  for (const Row& row : rows) {
    INFO("n = " << row.n << ", " << row.ranks << " thread blocks");
    const std::vector<float> a = planted(spectrum("spectrum", row.n), draws);
    const Eigenpairs pairs = eigenpairs_emulated(a, row.n, {row.ranks, false, row.shared_bytes});
    CHECK(pairs.outside);
    require_certified(a, pairs, row.n);
    const Eigenpairs other = eigenpairs_emulated(a, row.n, {row.ranks, true});
    CHECK_FALSE(other.outside);
    CHECK(other.q == pairs.q);
    CHECK(other.l == pairs.l);
  }
}

TEST_CASE("a matrix that is refused its certificate is solved again, and passes") {
  std::mt19937 draws(10);
  for (const std::string& name : spectrum_names()) {
    INFO(name);
    // Twins, so that there are neighbours to look at.
    std::vector<double> values = spectrum(name, 20);
    values.insert(values.end(), values.begin(), values.begin() + 20);
    const std::vector<float> a = planted(values, draws);
    Conditions conditions;
    conditions.all_fail = true;
    const Eigenpairs again = eigenpairs_emulated(a, 40, conditions);
    CHECK(again.flagged == 1);
    require_passes(a, again, 40);
    const Eigenpairs once = eigenpairs_emulated(a, 40, {});
    CHECK(once.flagged == 0);
    CHECK(again.q != once.q);
    // By the path of the other kernel, and by nothing else.
    conditions.precise = true;
    CHECK(eigenpairs_emulated(a, 40, conditions).q == again.q);
  }
}

// A column of Q^T Q - I has n entries of some eps each.
TEST_CASE("the precise kernel's eigenvectors are orthogonal to 2 n eps") {
  struct Row {
    int n;
    const char* spectrum;
  };
  const Row rows[] = {{1, "psd"},        {2, "psd"},       {3, "spectrum"}, {33, "repeated"},
                      {64, "clustered"}, {65, "spectrum"}, {66, "rankdef"}, {130, "lapack_even"}};
  std::mt19937 draws(12);
  for (const Row& row : rows) {
    INFO(row.spectrum << ", n = " << row.n);
    const std::vector<float> a = planted(spectrum(row.spectrum, row.n), draws);
    Conditions conditions;
    conditions.precise = true;
    const Eigenpairs precise = eigenpairs_emulated(a, row.n, conditions);
    require_certified(a, precise, row.n);
    CHECK(100 * gates_of(a, precise, row.n).orthogonality <= 2);
    CHECK(precise.l == eigenpairs_emulated(a, row.n, {}).l);
  }
}
