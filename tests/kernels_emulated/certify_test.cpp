// The certificate of the eigh_py kernel `tridiagonal` on the emulated machine, on eigenvectors made
// by hand: what is straightened, what is left as it is, and what is flagged.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tridiagonal_primitives.h"
// What stands in for the primitives comes first.
#include "catch.h"
#include "tridiagonal/solve.cuh"

using namespace kbench;

namespace {

constexpr int k_n = 41;
constexpr std::size_t k_size = k_n;

/// One matrix before and after certify_pairs; vector k is column k.
struct Certified {
  std::vector<float> values, vectors, norms;
  unsigned flag = 7, flagged = 0;
  bool shifted_again = false;  // whether the matrix was written for a second attempt

  double product(std::size_t k, std::size_t l) const {
    double sum = 0;
    for (std::size_t i = 0; i < k_size; ++i) {
      sum += double{vectors[i * k_size + k]} * vectors[i * k_size + l];
    }
    return sum * norms[k] * norms[l];
  }
  std::vector<float> vector(std::size_t k) const {
    std::vector<float> column{norms[k]};
    for (std::size_t i = 0; i < k_size; ++i) column.push_back(vectors[i * k_size + k]);
    return column;
  }
};

/// A reflector's columns, all of one eigenvalue, each with its largest entry 1.
Certified orthogonal() {
  std::mt19937 draws(21);
  std::normal_distribution<double> normal;
  std::vector<double> u(k_size);
  double square = 0;
  for (double& entry : u) entry = normal(draws), square += entry * entry;
  Certified c;
  c.values.assign(k_size, 1.0f);
  c.vectors.resize(k_size * k_size);
  for (std::size_t k = 0; k < k_size; ++k) {
    double largest = 0;
    const auto entry = [&](std::size_t i) { return (i == k ? 1 : 0) - 2 * u[i] * u[k] / square; };
    for (std::size_t i = 0; i < k_size; ++i) largest = std::max(largest, std::fabs(entry(i)));
    c.norms.push_back(static_cast<float>(largest));
    for (std::size_t i = 0; i < k_size; ++i) {
      c.vectors[i * k_size + k] = static_cast<float>(entry(i) / largest);
    }
  }
  return c;
}

/// Vector k + 1 gets `part` of vector k.
void lean(Certified& c, std::size_t k, double part) {
  const double rest = std::sqrt(1 - part * part);
  for (std::size_t i = 0; i < k_size; ++i) {
    float& entry = c.vectors[i * k_size + k + 1];
    entry = static_cast<float>(rest * entry +
                               part * c.vectors[i * k_size + k] * c.norms[k] / c.norms[k + 1]);
  }
}

Certified certify(Certified c) {
  const std::vector<float> diagonal(k_size, 1.0f);
  std::vector<float> coupling(k_size);
  std::vector<tridiagonal::Row> rows(static_cast<std::size_t>(tridiagonal::padded_rows(k_n)));
  const float down = 1;
  double bound = 1;
  const tridiagonal::SolveTask task{diagonal.data(),
                                    coupling.data(),
                                    &down,
                                    rows.data(),
                                    &bound,
                                    nullptr,
                                    c.values.data(),
                                    c.vectors.data(),
                                    c.norms.data(),
                                    &c.flag,
                                    &c.flagged,
                                    tridiagonal::dot_limit(k_n),
                                    k_n,
                                    1,
                                    false};
  emulated::Launch launch;
  launch.threads = tridiagonal::k_certify_threads;
  launch.shared_bytes = tridiagonal::k_certify_threads / 32 * sizeof(unsigned);
  emulated::run(launch, [&] { tridiagonal::certify_pairs(task); });
  c.shifted_again = rows[0].diagonal != 0;
  return c;
}

constexpr double k_n_eps = k_n * double{std::numeric_limits<float>::epsilon()};

}  // namespace

TEST_CASE("orthogonal eigenvectors are certified as they are") {
  const Certified before = orthogonal(), after = certify(before);
  CHECK(after.flag == 0);
  CHECK(after.flagged == 0);
  CHECK_FALSE(after.shifted_again);
  CHECK(after.vectors == before.vectors);
  CHECK(after.norms == before.norms);
}

void check_straight(const Certified& c) {
  CHECK(c.flag == 0);
  CHECK(c.flagged == 0);
  CHECK_FALSE(c.shifted_again);
  for (std::size_t k = 0; k < k_size; ++k) {
    for (std::size_t l = 0; l < k_size; ++l) {
      CAPTURE(k, l);
      CHECK(std::fabs(c.product(k, l) - (k == l ? 1 : 0)) <= k_n_eps);
    }
  }
}

TEST_CASE("eigenvectors that lean towards a neighbour are straightened and certified") {
  for (const double part : {1e-4, -1e-2, 0.06}) {
    INFO(part);
    Certified before = orthogonal();
    for (const std::size_t k : {0, 5, 20, 39}) lean(before, k, part);
    const Certified after = certify(before);
    check_straight(after);
    CHECK(after.vector(5) == before.vector(5));
    CHECK(after.vector(6) != before.vector(6));
    CHECK(after.vector(7) == before.vector(7));
  }
}

TEST_CASE("eigenvectors that lean one after the other are straightened if that is enough") {
  Certified slightly = orthogonal(), strongly = orthogonal();
  for (const std::size_t k : {5, 6, 7}) lean(slightly, k, 1e-4), lean(strongly, k, 1e-2);
  check_straight(certify(slightly));
  CHECK(certify(strongly).flag == 1);  // 1e-4 of vector 5 stays in vector 7
}

TEST_CASE("eigenvectors whose eigenvalues are far apart are not looked at") {
  Certified before = orthogonal();
  lean(before, 5, 1e-2);
  for (std::size_t k = 6; k < k_size; ++k) before.values[k] = 1.001f;
  const Certified after = certify(before);
  CHECK(after.flag == 0);
  CHECK(after.vectors == before.vectors);
}

TEST_CASE("eigenvectors that cannot be straightened have their matrix flagged") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  Certified lie_together = orthogonal(), not_finite = orthogonal(), no_norm = orthogonal();
  lean(lie_together, 5, 0.2);
  not_finite.vectors[3 * k_size + 9] = nan;
  no_norm.norms[9] = 0;
  for (const Certified& before : {lie_together, not_finite, no_norm}) {
    const Certified after = certify(before);
    CHECK(after.flag == 1);
    CHECK(after.flagged == 1);
    CHECK(after.shifted_again);
  }
}
