// Reference outputs for checker tests: LAPACK's factors of given matrices, and how to hand outputs
// to a checker in either layout.
#pragma once

#include <lapacke.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "device/device_cases.h"
#include "problems/problem.h"

namespace kbench::test {

/// Host arrays of one problem: a row-major, `matrices` column-major, `vectors` [batch, n].
struct Outputs {
  std::int64_t batch = 0, n = 0;
  std::vector<float> a, matrices, vectors;

  float& matrix(std::int64_t b, std::int64_t i, std::int64_t j) {
    return matrices[at((b * n + j) * n + i)];
  }
  float& vector(std::int64_t b, std::int64_t i) { return vectors[at(b * n + i)]; }
  float& input(std::int64_t b, std::int64_t i, std::int64_t j) {
    return a[at((b * n + i) * n + j)];
  }
};

inline std::vector<float> transposed(const Outputs& o, const std::vector<float>& in) {
  std::vector<float> out(in.size());
  for (std::int64_t b = 0; b < o.batch; ++b) {
    for (std::int64_t i = 0; i < o.n; ++i) {
      for (std::int64_t j = 0; j < o.n; ++j) {
        out[at((b * o.n + j) * o.n + i)] = in[at((b * o.n + i) * o.n + j)];
      }
    }
  }
  return out;
}

/// geqrf's H and tau.
inline Outputs qr_by_lapack(std::int64_t batch, std::int64_t n, std::vector<float> a) {
  Outputs o{batch, n, std::move(a), {}, std::vector<float>(at(batch * n))};
  o.matrices = transposed(o, o.a);
  const auto size = static_cast<lapack_int>(n);
  for (std::int64_t b = 0; b < batch; ++b) {
    REQUIRE(LAPACKE_sgeqrf(LAPACK_COL_MAJOR, size, size, o.matrices.data() + b * n * n, size,
                           o.vectors.data() + b * n) == 0);
  }
  return o;
}

/// Eigenvectors and ascending eigenvalues.
inline Outputs eigh_by_lapack(std::int64_t batch, std::int64_t n, std::vector<float> a) {
  Outputs o{batch, n, std::move(a), {}, std::vector<float>(at(batch * n))};
  o.matrices = o.a;
  const auto size = static_cast<lapack_int>(n);
  for (std::int64_t b = 0; b < batch; ++b) {
    REQUIRE(LAPACKE_ssyev(LAPACK_COL_MAJOR, 'V', 'L', size, o.matrices.data() + b * n * n, size,
                          o.vectors.data() + b * n) == 0);
  }
  return o;
}

/// The checker's judgement of `o`, its matrices handed over in `layout`.
inline Verdict judgement(Device& device, Checker& checker, const Outputs& o, Layout layout,
                         bool diagnostics) {
  const auto a = to_device<float>(device, o.a);
  const auto matrices = to_device<float>(
      device, layout == Layout::column_major ? o.matrices : transposed(o, o.matrices));
  const auto vectors = to_device<float>(device, o.vectors);
  const std::array<const float*, 2> outputs{matrices.get(), vectors.get()};
  return checker.check(a.get(), outputs, layout, diagnostics);
}

inline Verdict judgement(Device& device, const Problem& problem, const Outputs& o,
                         Layout layout = Layout::column_major, bool diagnostics = true) {
  return judgement(device, *problem.make_checker(device, o.batch, o.n), o, layout, diagnostics);
}

/// Two judgements of the same outputs in slices of different size. The host works matrix by matrix
/// and must agree to the letter; a GPU library may round differently for another batch size.
inline void check_same_judgement(Device& device, const Verdict& a, const Verdict& b) {
  CHECK(a.passed == b.passed);
  CHECK(a.worst_gate == b.worst_gate);
  REQUIRE(a.figures.size() == b.figures.size());
  const bool exact = device.info().kind == DeviceKind::host;
  for (std::size_t k = 0; k < a.figures.size(); ++k) {
    CAPTURE(a.figures[k].name);
    CHECK(a.figures[k].value <= b.figures[k].value * (exact ? 1 : 1.5));
    CHECK(b.figures[k].value <= a.figures[k].value * (exact ? 1 : 1.5));
  }
  if (!exact) return;
  CHECK(a.message == b.message);
  CHECK(a.error == b.error);
}

/// Matrices of a case, on the host.
inline std::vector<float> generated(const Problem& problem, std::string_view kind,
                                    std::int64_t batch, std::int64_t n) {
  Case spec;
  spec.batch = batch;
  spec.n = n;
  spec.cond = 1;
  spec.kind = kind;
  const auto device = open_host_device();
  const Buffer<float> a(*device, batch * n * n);
  problem.generate(*device, spec, 4711, a.get());
  return to_host(*device, a.get(), a.count());
}

}  // namespace kbench::test
