// Eigenvalues in FP64 by LAPACK, and how far others are from them.
#pragma once

#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "catch.h"

namespace kbench::test {

/// Of a symmetric [n, n], ascending.
inline std::vector<double> by_lapack(const std::vector<float>& a, std::int64_t order) {
  const auto n = static_cast<lapack_int>(order);
  std::vector<double> wide(a.begin(), a.end()), values(static_cast<std::size_t>(order));
  REQUIRE(LAPACKE_dsyevd(LAPACK_ROW_MAJOR, 'N', 'L', n, wide.data(), n, values.data()) == 0);
  return values;
}

/// max |l - wanted| in n eps max |wanted|; infinite where that is 0 and l is not.
inline double error_of(const std::vector<float>& l, const std::vector<double>& wanted) {
  double error = 0, largest = 0;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    error = std::max(error, std::fabs(l[k] - wanted[k]));
    largest = std::max(largest, std::fabs(wanted[k]));
    if (std::isnan(l[k])) error = std::numeric_limits<double>::infinity();
  }
  const double n_eps =
      static_cast<double>(wanted.size()) * double{std::numeric_limits<float>::epsilon()};
  return error == 0 ? 0 : error / (n_eps * largest);
}

}  // namespace kbench::test
