// The checker of qr_v2: right factors pass with honest residuals, and every gate is seen to fail.
#include <cmath>
#include <functional>
#include <limits>

#include "problems/factors.h"
#include "problems/qr_v2.h"

namespace kbench::test {
namespace {

constexpr float k_nan = std::numeric_limits<float>::quiet_NaN();
constexpr float k_inf = std::numeric_limits<float>::infinity();

KBENCH_DEVICE_TEST(lapack_qr_passes,
                   "LAPACK's QR passes in every case and layout, residuals not zero") {
  for (const std::string_view kind : qr_v2().info().cases) {
    for (const Size s : {Size{7, 32}, Size{3, 33}, Size{2, 100}}) {
      const Outputs o = qr_by_lapack(s.batch, s.n, generated(qr_v2(), kind, s.batch, s.n));
      for (const Layout layout : {Layout::column_major, Layout::row_major}) {
        CAPTURE(kind, s.batch, s.n, static_cast<int>(layout));
        const Verdict verdict = judgement(device, qr_v2(), o, layout);
        CHECK(verdict.error == "");
        REQUIRE(verdict.passed);
        CHECK(verdict.worst_of_gate < 0.2);
        // Q is I and R is A: zero is the honest residual.
        if (kind == "diagonal" || kind == "upper") continue;
        CHECK(verdict.worst_of_gate > 1e-5);
        for (const Figure& figure : verdict.figures) {
          CAPTURE(figure.name);
          CHECK(figure.value > 1e-6);
          CHECK(figure.value < 10);
        }
      }
    }
  }
}

KBENCH_DEVICE_TEST(qr_message,
                   "the pass message of qr_v2 names limits, residuals and shape in order") {
  const Outputs o = qr_by_lapack(20, 32, generated(qr_v2(), "dense", 20, 32));
  const Verdict verdict = judgement(device, qr_v2(), o);
  std::vector<std::string> names;
  for (const Figure& figure : verdict.figures) names.push_back(figure.name);
  CHECK(names ==
        std::vector<std::string>{"scaled_factor_residual", "scaled_reconstruction_residual",
                                 "scaled_triangular_residual", "scaled_orthogonality_residual"});
  CHECK_THAT(verdict.message, StartsWith("factor_rtol=7.63e-05; orth_rtol=0.000381; "
                                         "scaled_factor_residual=0."));
  CHECK_THAT(verdict.message, ContainsSubstring("; scaled_orthogonality_residual="));
  CHECK_THAT(verdict.message, ContainsSubstring("; batch=20; n=32"));

  const Verdict gates_only = judgement(device, qr_v2(), o, Layout::column_major, false);
  CHECK(gates_only.passed);
  CHECK(gates_only.figures.size() == 2);
  CHECK(gates_only.worst_of_gate == verdict.worst_of_gate);
}

KBENCH_DEVICE_TEST(qr_faults, "one wrong matrix among 640 is found and named, whatever is wrong") {
  const struct {
    const char* what;
    std::function<void(Outputs&)> plant;
    const char* error;
  } faults[] = {
      {"R off by 1 %", [](Outputs& o) { o.matrix(417, 2, 5) *= 1.01f; },
       "factor residual is too large (matrix 417 of 640: norm1(R - Q^T A) = "},
      {"reflector off", [](Outputs& o) { o.matrix(417, 6, 1) += 0.01f; },
       "factor residual is too large (matrix 417 of 640: "},
      {"tau off", [](Outputs& o) { o.vector(417, 3) *= 1.001f; },
       "factor residual is too large (matrix 417 of 640: "},
      {"tau left at zero", [](Outputs& o) { o.vector(417, 0) = 0; },
       "factor residual is too large (matrix 417 of 640: "},
      {"columns swapped",
       [](Outputs& o) {
         for (std::int64_t i = 0; i < o.n; ++i) std::swap(o.matrix(417, i, 2), o.matrix(417, i, 3));
       },
       "factor residual is too large (matrix 417 of 640: "},
      {"NaN in R", [](Outputs& o) { o.matrix(417, 2, 5) = k_nan; },
       "output `H` is not finite (matrix 417, row 2, column 5: nan); write every element"},
      {"infinite reflector", [](Outputs& o) { o.matrix(417, 7, 0) = -k_inf; },
       "output `H` is not finite (matrix 417, row 7, column 0: -inf)"},
      {"NaN in tau", [](Outputs& o) { o.vector(417, 7) = k_nan; },
       "output `tau` is not finite (matrix 417, element 7: nan)"},
      {"Q overflows",
       [](Outputs& o) {
         o.vector(417, 6) = 3e38f;
         o.matrix(417, 7, 6) = 3e38f;
       },
       "factor residual is not finite (matrix 417 of 640: "},
  };
  const Outputs right = qr_by_lapack(640, 8, generated(qr_v2(), "dense", 640, 8));
  const auto checker = qr_v2().make_checker(device, 640, 8);
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
        CHECK(verdict.message.empty());
      }
    }
    CHECK(judgement(device, *checker, right, Layout::column_major, false).passed);
  }
}

KBENCH_DEVICE_TEST(qr_orthogonality,
                   "a Q that is not orthogonal fails even where R = Q^T A holds") {
  // A = 0: any Q satisfies the factor gate.
  Outputs o{3, 4, std::vector<float>(48), std::vector<float>(48), std::vector<float>(12)};
  CHECK(judgement(device, qr_v2(), o).passed);
  o.vector(1, 0) = 1.0f;  // v = e_1: H_1 is a projection
  const Verdict verdict = judgement(device, qr_v2(), o);
  CHECK_THAT(
      verdict.error,
      StartsWith("orthogonality residual is too large (matrix 1 of 3: norm1(Q^T Q - I) = 1, "));
  CHECK(verdict.worst_gate == "orthogonality");
}

KBENCH_DEVICE_TEST(qr_zero_matrix, "a zero matrix takes R = 0 and nothing else") {
  Outputs o{2, 3, std::vector<float>(18), std::vector<float>(18), std::vector<float>(6)};
  const Verdict right = judgement(device, qr_v2(), o);
  CHECK(right.passed);
  CHECK(right.worst_of_gate == 0);
  o.matrix(1, 0, 2) = 1e-30f;
  const Verdict wrong = judgement(device, qr_v2(), o);
  CHECK_THAT(wrong.error, StartsWith("factor residual is too large (matrix 1 of 2: "));
  CHECK_THAT(wrong.error, ContainsSubstring("allowed 0, "));
  CHECK(wrong.worst_of_gate == std::numeric_limits<double>::infinity());
}

KBENCH_DEVICE_TEST(qr_of_one,
                   "for n = 1 both signs of R are right with their tau, and no other pair") {
  const struct {
    float a, h, tau;
    bool passes;
  } cases[] = {{3, 3, 0, true},   {3, -3, 2, true}, {3, -3, 0, false}, {3, 3, 2, false},
               {3, 0, 1, false},  {0, 0, 0, true},  {0, 0, 2, true},   {0, 1, 0, false},
               {-2, -2, 0, true}, {-2, 2, 2, true}};
  for (const auto& c : cases) {
    CAPTURE(c.a, c.h, c.tau);
    CHECK(judgement(device, qr_v2(), Outputs{1, 1, {c.a}, {c.h}, {c.tau}}).passed == c.passes);
  }
}

KBENCH_DEVICE_TEST(qr_identity, "the identity passes with tau 0 and R = I") {
  Outputs o{1, 5, std::vector<float>(25), std::vector<float>(25), std::vector<float>(5)};
  for (std::int64_t i = 0; i < 5; ++i) o.input(0, i, i) = o.matrix(0, i, i) = 1;
  CHECK(judgement(device, qr_v2(), o).passed);
}

KBENCH_DEVICE_TEST(qr_slices, "a batch in many slices is judged as in one") {
  const Outputs right = qr_by_lapack(10, 33, generated(qr_v2(), "mixed", 10, 33));
  Outputs wrong = right;
  wrong.matrix(7, 0, 3) += 1;
  wrong.matrix(2, 0, 3) += 0.01f;
  for (const Outputs* o : {&right, static_cast<const Outputs*>(&wrong)}) {
    const Verdict whole =
        judgement(device, *make_qr_v2_checker(device, 10, 33, 1e9), *o, Layout::row_major, true);
    for (const double slice_bytes : {1.0, 150e3}) {
      CAPTURE(slice_bytes);
      const auto checker = make_qr_v2_checker(device, 10, 33, slice_bytes);
      const Verdict sliced = judgement(device, *checker, *o, Layout::row_major, true);
      check_same_judgement(device, sliced, whole);
      CHECK(sliced.error.substr(0, 60) == whole.error.substr(0, 60));
    }
  }
  CHECK_THAT(judgement(device, qr_v2(), wrong).error, ContainsSubstring("matrix 7 of 10"));
  CHECK_THAT(judgement(device, qr_v2(), wrong).error, ContainsSubstring("; 2 of 10 matrices fail"));
}

KBENCH_DEVICE_TEST(qr_large_batch, "the last matrix of a batch beyond 65536 is judged") {
  for (const std::int64_t batch : {65535, 65536, 70001}) {
    CAPTURE(batch);
    Outputs o = qr_by_lapack(batch, 2, generated(qr_v2(), "dense", batch, 2));
    CHECK(judgement(device, qr_v2(), o, Layout::row_major, false).passed);
    o.matrix(batch - 1, 0, 1) += 1;
    CHECK_FALSE(judgement(device, qr_v2(), o, Layout::row_major, false).passed);
  }
}

}  // namespace
}  // namespace kbench::test
