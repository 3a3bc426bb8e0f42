// The eigensolver that the CUDA test plug-ins of eigh_py are honest with.
#include "../plugins/jacobi.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "catch.h"

TEST_CASE("Jacobi's method solves small symmetric matrices to double precision") {
  for (const int n : {1, 2, 3, 8, 32}) {
    const auto at = [n](int i, int j) { return static_cast<std::size_t>(i * n + j); };
    std::vector<double> a(at(n, 0)), v(a);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j <= i; ++j) a[at(i, j)] = a[at(j, i)] = std::sin(i * n + 7 * j + 1);
    }
    const std::vector<double> given = a;
    kbench_test::jacobi(a.data(), v.data(), n, 0, 1, [] {});
    std::vector<double> sorted(static_cast<std::size_t>(n));
    double worst = 0;
    for (int j = 0; j < n; ++j) {
      const double lambda = a[at(j, j)];
      sorted[static_cast<std::size_t>(kbench_test::place_of(a.data(), n, j))] = lambda;
      for (int i = 0; i < n; ++i) {
        double rest = -lambda * v[at(i, j)];
        for (int k = 0; k < n; ++k) rest += given[at(i, k)] * v[at(k, j)];
        worst = std::max(worst, std::abs(rest));
      }
    }
    INFO(n);
    CHECK(worst < 1e-13 * n);
    CHECK(std::is_sorted(sorted.begin(), sorted.end()));
  }
}
