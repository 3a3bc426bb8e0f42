// Eigenvalues of the eigh_py kernels `tridiagonal` and `precise`, on the emulated machine, against
// LAPACK's of the same FP32 matrices in FP64: every case of the problem, as it is generated.
#include "eigenvalues.h"

#include <string_view>
#include <vector>

#include "../problems/factors.h"
#include "catch.h"
#include "eigh_run.h"
#include "problems/eigh_py.h"

using namespace kbench;
using namespace kbench::test;

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
