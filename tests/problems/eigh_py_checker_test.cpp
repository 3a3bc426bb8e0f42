// The checker of eigh_py: right eigenpairs pass with honest residuals, and every gate is seen to
// fail.
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "problems/eigh_py.h"
#include "problems/factors.h"

namespace kbench::test {
namespace {

constexpr float k_nan = std::numeric_limits<float>::quiet_NaN();
constexpr float k_eps = 0x1p-23f;

KBENCH_DEVICE_TEST(lapack_eigh_passes, "LAPACK's eigenpairs pass in every case and layout") {
  for (const std::string_view kind : eigh_py().info().cases) {
    for (const Size s : {Size{7, 32}, Size{3, 33}}) {
      const Outputs o = eigh_by_lapack(s.batch, s.n, generated(eigh_py(), kind, s.batch, s.n));
      for (const Layout layout : {Layout::column_major, Layout::row_major}) {
        CAPTURE(kind, s.batch, s.n, static_cast<int>(layout));
        const Verdict verdict = judgement(device, eigh_py(), o, layout);
        CHECK(verdict.error == "");
        REQUIRE(verdict.passed);
        CHECK(verdict.worst_of_gate < 0.5);
      }
    }
  }
}

KBENCH_DEVICE_TEST(eigh_residuals, "the residuals of eigh_py are not zero where rounding is not") {
  for (const std::string_view kind :
       {"dense", "spectrum", "psd", "mixed", "lapack_random_symmetric"}) {
    CAPTURE(kind);
    const Outputs o = eigh_by_lapack(5, 64, generated(eigh_py(), kind, 5, 64));
    const Verdict verdict = judgement(device, eigh_py(), o);
    CHECK(verdict.worst_of_gate > 1e-4);
    for (const Figure& figure : verdict.figures) {
      CAPTURE(figure.name);
      CHECK(figure.value > 1e-4);
      CHECK(figure.value < 50);
    }
  }
}

KBENCH_DEVICE_TEST(eigh_message,
                   "the pass message of eigh_py names limits, residuals and shape in order") {
  const Outputs o = eigh_by_lapack(20, 32, generated(eigh_py(), "dense", 20, 32));
  const Verdict verdict = judgement(device, eigh_py(), o);
  std::vector<std::string> names;
  for (const Figure& figure : verdict.figures) names.push_back(figure.name);
  CHECK(names == std::vector<std::string>{"scaled_eigen_residual", "scaled_reconstruction_residual",
                                          "scaled_diagonalization_residual",
                                          "scaled_orthogonality_residual"});
  CHECK_THAT(verdict.message, StartsWith("eigen_rtol=0.000763; recon_rtol=0.00153; "
                                         "orth_rtol=0.000381; scaled_eigen_residual="));
  CHECK_THAT(verdict.message, ContainsSubstring("; batch=20; n=32"));
  const Verdict gates_only = judgement(device, eigh_py(), o, Layout::row_major, false);
  CHECK(gates_only.passed);
  CHECK(gates_only.figures.size() == 3);
}

void swap_pairs(Outputs& o, std::int64_t b, std::int64_t j, bool values, bool vectors) {
  if (values) std::swap(o.vector(b, j), o.vector(b, j + 1));
  if (!vectors) return;
  for (std::int64_t i = 0; i < o.n; ++i) std::swap(o.matrix(b, i, j), o.matrix(b, i, j + 1));
}

KBENCH_DEVICE_TEST(eigh_faults, "one wrong decomposition among 640 is found and named") {
  const struct {
    const char* what;
    std::function<void(Outputs&)> plant;
    const char* error;
  } faults[] = {
      {"pairs out of order", [](Outputs& o) { swap_pairs(o, 417, 3, true, true); },
       "eigenvalues are not ascending (matrix 417 of 640: L[3] = "},
      {"columns swapped", [](Outputs& o) { swap_pairs(o, 417, 3, false, true); },
       "eigen residual is too large (matrix 417 of 640: norm1(A Q - Q diag(L)) = "},
      {"eigenvalue off", [](Outputs& o) { o.vector(417, 7) += 0.01f; },
       "eigen residual is too large (matrix 417 of 640: "},
      {"eigenvector too long",
       [](Outputs& o) {
         for (std::int64_t i = 0; i < o.n; ++i) o.matrix(417, i, 2) *= 1.01f;
       },
       "orthogonality residual is too large (matrix 417 of 640: norm1(Q^T Q - I) = "},
      {"eigenvector missing",
       [](Outputs& o) {
         for (std::int64_t i = 0; i < o.n; ++i) o.matrix(417, i, 2) = 0;
       },
       "orthogonality residual is too large (matrix 417 of 640: norm1(Q^T Q - I) = 1, "},
      {"NaN in Q", [](Outputs& o) { o.matrix(417, 2, 5) = k_nan; },
       "output `Q` is not finite (matrix 417, row 2, column 5: nan)"},
      {"infinite L", [](Outputs& o) { o.vector(417, 7) = std::numeric_limits<float>::infinity(); },
       "output `L` is not finite (matrix 417, element 7: inf)"},
  };
  const Outputs right = eigh_by_lapack(640, 8, generated(eigh_py(), "dense", 640, 8));
  const auto checker = eigh_py().make_checker(device, 640, 8);
  for (const auto& fault : faults) {
    Outputs wrong = right;
    fault.plant(wrong);
    for (const Layout layout : {Layout::column_major, Layout::row_major}) {
      for (const bool diagnostics : {false, true}) {
        CAPTURE(fault.what, static_cast<int>(layout), diagnostics);
        const Verdict verdict = judgement(device, *checker, wrong, layout, diagnostics);
        CHECK_FALSE(verdict.passed);
        CHECK_THAT(verdict.error, StartsWith(fault.error));
        CHECK(verdict.worst_of_gate > 1);
      }
    }
    CHECK(judgement(device, *checker, right, Layout::column_major, false).passed);
  }
}

KBENCH_DEVICE_TEST(eigh_reconstruction, "a decomposition can fail by its reconstruction alone") {
  // A = I, L = 1 and Q a Hadamard matrix whose columns are too long or too short by 49 n eps: eigen
  // is exact and Q^T Q - I is diagonal, but Q Q^T - I fills whole columns.
  const std::int64_t n = 64;
  Outputs o{1, n, std::vector<float>(at(n * n)), std::vector<float>(at(n * n)),
            std::vector<float>(at(n), 1.0f)};
  const auto signs = random_floats(n, 31);
  for (std::int64_t j = 0; j < n; ++j) {
    o.input(0, j, j) = 1;
    const float length = 1 + std::copysign(49 * 64 * k_eps, signs[at(j)]);
    for (std::int64_t i = 0; i < n; ++i) {
      const bool odd = std::popcount(static_cast<std::uint64_t>(i & j)) % 2 == 1;
      o.matrix(0, i, j) = (odd ? -0.125f : 0.125f) * length;
    }
  }
  const Verdict verdict = judgement(device, eigh_py(), o);
  CHECK_THAT(verdict.error, StartsWith("reconstruction residual is too large (matrix 0 of 1: "
                                       "norm1(Q diag(L) Q^T - A) = "));
  CHECK(verdict.worst_gate == "reconstruction");
}

KBENCH_DEVICE_TEST(eigh_order_limit, "eigenvalues may fall by rounding and no further") {
  const float allowed = 100 * 2 * k_eps;
  for (const bool beyond : {false, true}) {
    // A = diag(1 + drop, 1), Q = I.
    const float drop = allowed * (beyond ? 1.1f : 0.9f);
    const Outputs o{1, 2, {1 + drop, 0, 0, 1}, {1, 0, 0, 1}, {1 + drop, 1}};
    const Verdict verdict = judgement(device, eigh_py(), o);
    CHECK(verdict.passed != beyond);
    CHECK(verdict.worst_gate == "order");
    if (beyond) CHECK_THAT(verdict.error, StartsWith("eigenvalues are not ascending"));
  }
}

KBENCH_DEVICE_TEST(eigh_zero_matrix, "a zero matrix takes L = 0 and any orthogonal Q") {
  Outputs o{1, 2, {0, 0, 0, 0}, {0.6f, 0.8f, -0.8f, 0.6f}, {0, 0}};
  CHECK(judgement(device, eigh_py(), o).passed);
  o.vectors = {0, 1e-30f};
  const Verdict verdict = judgement(device, eigh_py(), o);
  CHECK_THAT(verdict.error, StartsWith("eigen residual is too large (matrix 0 of 1: "));
  CHECK_THAT(verdict.error, ContainsSubstring("allowed 0, "));
}

KBENCH_DEVICE_TEST(eigh_of_one, "for n = 1 the eigenvector is 1 or -1 and L is the entry") {
  const struct {
    float a, q, l;
    bool passes;
  } cases[] = {{3, 1, 3, true},           {3, -1, 3, true}, {3, 1, -3, false}, {3, 0, 3, false},
               {-1e19f, 1, -1e19f, true}, {0, 1, 0, true},  {0, 1, 1, false},  {3, 0.9f, 3, false}};
  for (const auto& c : cases) {
    CAPTURE(c.a, c.q, c.l);
    CHECK(judgement(device, eigh_py(), Outputs{1, 1, {c.a}, {c.q}, {c.l}}).passed == c.passes);
  }
}

KBENCH_DEVICE_TEST(eigh_slices, "a batch in many slices is judged as in one, by eigh_py") {
  const Outputs right = eigh_by_lapack(10, 33, generated(eigh_py(), "mixed", 10, 33));
  Outputs wrong = right;
  wrong.vector(7, 32) += 1;
  for (const Outputs* o : {&right, static_cast<const Outputs*>(&wrong)}) {
    const Verdict whole =
        judgement(device, *make_eigh_py_checker(device, 10, 33, 1e9), *o, Layout::row_major, true);
    for (const double slice_bytes : {1.0, 150e3}) {
      CAPTURE(slice_bytes);
      const auto checker = make_eigh_py_checker(device, 10, 33, slice_bytes);
      const Verdict sliced = judgement(device, *checker, *o, Layout::row_major, true);
      check_same_judgement(device, sliced, whole);
      CHECK(sliced.error.substr(0, 60) == whole.error.substr(0, 60));
    }
  }
  CHECK_THAT(judgement(device, eigh_py(), wrong).error, ContainsSubstring("matrix 7 of 10"));
}

KBENCH_DEVICE_TEST(eigh_large_batch, "the last decomposition of a batch beyond 65536 is judged") {
  for (const std::int64_t batch : {65535, 65536, 70001}) {
    CAPTURE(batch);
    Outputs o = eigh_by_lapack(batch, 2, generated(eigh_py(), "spectrum", batch, 2));
    CHECK(judgement(device, eigh_py(), o, Layout::row_major, false).passed);
    o.vector(batch - 1, 1) += 1;
    CHECK_FALSE(judgement(device, eigh_py(), o, Layout::row_major, false).passed);
  }
}

}  // namespace
}  // namespace kbench::test
