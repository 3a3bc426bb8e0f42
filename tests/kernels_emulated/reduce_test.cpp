// The reduction of the eigh_py kernel `tridiagonal` on the emulated machine: T and the reflectors
// reproduce A, whatever the shape, the spectrum and the number of thread blocks that share it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tridiagonal_primitives.h"
// What stands in for the primitives comes first.
#include "catch.h"
#include "spectra.h"
#include "tridiagonal/reduce.cuh"
#include "tridiagonal/reduce_warp.cuh"

using namespace kbench;
using namespace kbench::test;

namespace {

constexpr double k_eps = std::numeric_limits<float>::epsilon();
constexpr float k_nan = std::numeric_limits<float>::quiet_NaN();

struct Reduction {
  std::vector<float> reflectors, tau, diagonal, coupling;
  float down = k_nan;
};

/// How a matrix is reduced: `resident` blocks per thread block may stay in shared memory.
struct Way {
  int ranks, resident;
  bool backwards;
};

Reduction unwritten(int n) {
  const auto size = static_cast<std::size_t>(n);
  return {std::vector<float>(size * size, k_nan), std::vector<float>(size, k_nan),
          std::vector<float>(size, k_nan), std::vector<float>(size, k_nan)};
}

Reduction reduce(const std::vector<float>& a, int n, const Way& way) {
  const int ranks = way.ranks;
  Reduction r = unwritten(n);
  const tridiagonal::SharedLayout layout =
      tridiagonal::shared_layout(n, ranks, tridiagonal::Home::shared);
  const int beyond = std::max(0, layout.blocks - tridiagonal::k_warps);
  const int kept = std::min(way.resident, beyond), spilled = beyond - kept;
  std::vector<float4> spill(
      static_cast<std::size_t>(ranks * spilled) * tridiagonal::k_block_elements / 4,
      float4{k_nan, k_nan, k_nan, k_nan});
  const tridiagonal::ReduceTask task{a.data(),
                                     r.reflectors.data(),
                                     r.tau.data(),
                                     r.diagonal.data(),
                                     r.coupling.data(),
                                     &r.down,
                                     spill.data(),
                                     nullptr,
                                     n,
                                     ranks,
                                     kept,
                                     spilled};
  emulated::Launch launch;
  launch.blocks = launch.ranks = ranks;
  launch.threads = tridiagonal::k_threads;
  launch.shared_bytes = static_cast<std::size_t>(layout.resident) +
                        static_cast<std::size_t>(kept) * tridiagonal::k_block_elements * 4;
  launch.backwards = way.backwards;
  emulated::run(launch, [&] {
    if (ranks == 1) {
      tridiagonal::reduce_matrices<true, tridiagonal::Home::shared>(task);
    } else {
      tridiagonal::reduce_matrices<false, tridiagonal::Home::shared>(task);
    }
  });
  return r;
}

Reduction reduce_in_warp(const std::vector<float>& a, int n) {
  Reduction r = unwritten(n);
  const tridiagonal::ReduceTask task{a.data(),
                                     r.reflectors.data(),
                                     r.tau.data(),
                                     r.diagonal.data(),
                                     r.coupling.data(),
                                     &r.down,
                                     nullptr,
                                     nullptr,
                                     n,
                                     1,
                                     0,
                                     0};
  emulated::Launch launch;
  launch.blocks = launch.ranks = 1;
  launch.threads = tridiagonal::k_warp_rows;
  launch.shared_bytes = sizeof(tridiagonal::WarpShared);
  emulated::run(launch, [&] { tridiagonal::reduce_in_warp(task); });
  return r;
}

/// H_0 H_1 ... H_(n-2) applied to T from both sides, in FP64.
std::vector<double> rebuilt(const Reduction& r, std::size_t n) {
  std::vector<double> m(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    m[i * n + i] = r.diagonal[i];
    if (i + 1 < n) m[i * n + i + 1] = m[(i + 1) * n + i] = r.coupling[i];
  }
  std::vector<double> sum(n);
  const auto apply = [&](std::size_t k, bool rows) {
    const auto at = [&](std::size_t i, std::size_t j) -> double& {
      return rows ? m[i * n + j] : m[j * n + i];
    };
    const float* v = &r.reflectors[k * n];
    for (std::size_t j = 0; j < n; ++j) {
      double dot = 0;
      for (std::size_t i = k + 1; i < n; ++i) dot += v[i] * at(i, j);
      for (std::size_t i = k + 1; i < n; ++i) at(i, j) -= r.tau[k] * dot * v[i];
    }
  };
  for (std::size_t k = n - 1; k-- > 0;) {
    apply(k, true);
    apply(k, false);
  }
  return m;
}

/// norm1(A - Q T Q^T / up) in n eps norm1(A), and norm1(H^T H - I) of the worst H in eps.
struct Errors {
  double backward, reflector;
};
Errors errors_of(const std::vector<float>& a, const Reduction& r, std::size_t n) {
  const std::vector<double> m = rebuilt(r, n);
  double error = 0, norm = 0, reflector = 0;
  for (std::size_t j = 0; j < n; ++j) {
    double column = 0, size = 0;
    for (std::size_t i = 0; i < n; ++i) {
      column += std::fabs(m[i * n + j] * r.down - a[i * n + j]);
      size += std::fabs(double{a[i * n + j]});
    }
    error = std::fmax(error, column);
    if (std::isnan(column)) error = std::numeric_limits<double>::infinity();
    norm = std::max(norm, size);
    double square = 0;
    if (j + 1 >= n) continue;
    for (std::size_t i = j + 1; i < n; ++i) {
      square += double{r.reflectors[j * n + i]} * r.reflectors[j * n + i];
    }
    reflector = std::fmax(reflector, std::fabs(r.tau[j] * (r.tau[j] * square - 2)));
  }
  return {norm == 0 ? error : error / (static_cast<double>(n) * k_eps * norm), reflector / k_eps};
}

std::vector<float> normal_symmetric(int n, std::mt19937& draws) {
  const auto size = static_cast<std::size_t>(n);
  std::normal_distribution<float> normal;
  std::vector<float> a(size * size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) a[i * size + j] = a[j * size + i] = normal(draws);
  }
  return a;
}

void require_small(const Errors& errors) {
  CHECK(errors.backward <= 2);
  CHECK(errors.reflector <= 64);
}

}  // namespace

TEST_CASE("the reduction reproduces matrices of every size and number of thread blocks") {
  struct Row {
    int n, ranks, resident;
  };
  const Row rows[] = {{1, 1, 9},   {2, 1, 9},   {3, 1, 9},   {5, 2, 9},   {63, 1, 9},
                      {64, 1, 9},  {65, 2, 9},  {130, 4, 9}, {177, 8, 9}, {200, 16, 9},
                      {260, 1, 3}, {260, 1, 9}, {323, 2, 1}};
  std::mt19937 draws(3);
  for (const Row& row : rows) {
    INFO("n = " << row.n << ", " << row.ranks << " thread blocks, " << row.resident);
    const std::vector<float> a = normal_symmetric(row.n, draws);
    const Reduction r = reduce(a, row.n, {row.ranks, row.resident, false});
    require_small(errors_of(a, r, static_cast<std::size_t>(row.n)));
  }
}

TEST_CASE("one warp's reduction reproduces matrices of every size that it takes") {
  std::mt19937 draws(5);
  for (int n = 1; n <= tridiagonal::k_warp_rows; ++n) {
    INFO("n = " << n);
    const std::vector<float> a = normal_symmetric(n, draws);
    require_small(errors_of(a, reduce_in_warp(a, n), static_cast<std::size_t>(n)));
  }
}

TEST_CASE("the order in which warps run changes no bit of a reduction") {
  std::mt19937 draws(4);
  const std::vector<float> a = normal_symmetric(70, draws);
  for (const int ranks : {1, 2, 8}) {
    INFO(ranks << " thread blocks");
    const Reduction forwards = reduce(a, 70, {ranks, 9, false});
    const Reduction backwards = reduce(a, 70, {ranks, 9, true});
    CHECK(forwards.diagonal == backwards.diagonal);
    CHECK(std::memcmp(forwards.coupling.data(), backwards.coupling.data(), 69 * sizeof(float)) ==
          0);
  }
}
