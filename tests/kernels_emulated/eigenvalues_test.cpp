// Eigenvalues of the eigh_py kernels `tridiagonal` and `precise`, on the emulated machine, against
// LAPACK's of the same FP32 matrices in FP64: every case of the problem, as it is generated.
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../problems/factors.h"
#include "catch.h"
#include "eigh_run.h"
#include "problems/eigh_py.h"

using namespace kbench;
using namespace kbench::test;

namespace {

std::vector<double> by_lapack(const std::vector<float>& a, int n) {
  std::vector<double> wide(a.begin(), a.end()), values(static_cast<std::size_t>(n));
  REQUIRE(LAPACKE_dsyevd(LAPACK_ROW_MAJOR, 'N', 'L', n, wide.data(), n, values.data()) == 0);
  return values;
}

/// max |l - wanted| in n eps max |wanted|; infinite where that is 0 and l is not.
double error_of(const std::vector<float>& l, const std::vector<double>& wanted) {
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

}  // namespace

TEST_CASE("eigenvalues of every case are within 10 n eps of LAPACK's on the emulated machine") {
  for (const std::string_view kind : eigh_py().info().cases) {
    for (const int n : {8, 65}) {
      INFO(kind << ", n = " << n);
      const std::vector<float> a = generated(eigh_py(), kind, 1, n);
      Conditions conditions;
      conditions.precise = true;
      const std::vector<double> wanted = by_lapack(a, n);
      CHECK(error_of(eigenpairs_emulated(a, n, conditions).l, wanted) <= 10);
      CHECK(error_of(eigenpairs_emulated(a, n, {}).l, wanted) <= 10);
    }
  }
}
