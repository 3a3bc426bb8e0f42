// Factorisations and products against LAPACK and against loops in double precision.
#include <lapacke.h>

#include <algorithm>
#include <cmath>

#include "device/device_cases.h"

namespace kbench::test {
namespace {

constexpr double k_eps = 0x1p-23;

// Large batches of tiny matrices are compared at both ends and across the border of 65536.
std::vector<std::int64_t> probes(std::int64_t batch) {
  if (batch <= 3) {
    std::vector<std::int64_t> all;
    for (std::int64_t b = 0; b < batch; ++b) all.push_back(b);
    return all;
  }
  return {0, 65534, 65535, 65536, batch - 1};
}

struct Factors {
  std::vector<float> a, h, tau;  ///< a row-major; h column-major
};

// geqrf of random matrices by LAPACK.
Factors lapack_factors(Size s) {
  Factors f;
  f.a = random_floats(s.batch * s.n * s.n, 11);
  f.h.resize(f.a.size());
  f.tau.resize(at(s.batch * s.n));
  const auto n = static_cast<lapack_int>(s.n);
  for (std::int64_t b = 0; b < s.batch; ++b) {
    float* h = f.h.data() + b * s.n * s.n;
    for (std::int64_t i = 0; i < s.n; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j) h[j * s.n + i] = f.a[at((b * s.n + i) * s.n + j)];
    }
    REQUIRE(LAPACKE_sgeqrf(LAPACK_COL_MAJOR, n, n, h, n, f.tau.data() + b * s.n) == 0);
  }
  return f;
}

// Q of matrix b, row-major, as H_1 ... H_n applied to the identity in double.
std::vector<double> reference_q(Size s, const std::vector<float>& h, const std::vector<float>& tau,
                                std::int64_t b) {
  const std::int64_t n = s.n;
  std::vector<double> q(at(n * n), 0.0), v(at(n));
  for (std::int64_t i = 0; i < n; ++i) q[at(i * n + i)] = 1;
  for (std::int64_t k = n - 1; k >= 0; --k) {
    for (std::int64_t i = 0; i < n; ++i) {
      v[at(i)] = i < k ? 0 : i == k ? 1 : double{h[at(b * n * n + k * n + i)]};
    }
    for (std::int64_t j = 0; j < n; ++j) {
      double dot = 0;
      for (std::int64_t i = k; i < n; ++i) dot += v[at(i)] * q[at(i * n + j)];
      dot *= double{tau[at(b * n + k)]};
      for (std::int64_t i = k; i < n; ++i) q[at(i * n + j)] -= dot * v[at(i)];
    }
  }
  return q;
}

std::vector<float> transposed(Size s, const std::vector<float>& a) {
  std::vector<float> out(a.size());
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t i = 0; i < s.n; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j) {
        out[at((b * s.n + j) * s.n + i)] = a[at((b * s.n + i) * s.n + j)];
      }
    }
  }
  return out;
}

KBENCH_DEVICE_TEST(form_q_both_layouts, "form_q gives LAPACK's Q from both layouts") {
  for (const Size s : sizes()) {
    const Factors f = lapack_factors(s);
    const auto tau = to_device<float>(device, f.tau);
    for (const Layout layout : {Layout::column_major, Layout::row_major}) {
      CAPTURE(s.batch, s.n, static_cast<int>(layout));
      const auto h =
          to_device<float>(device, layout == Layout::column_major ? f.h : transposed(s, f.h));
      const Buffer<float> q(device, h.count());
      device.ops().form_q(h.get(), layout, tau.get(), s.batch, s.n, q.get());
      const auto formed = to_host(device, q.get(), q.count());
      double worst = 0, worst_lapack = 0;
      for (const std::int64_t b : probes(s.batch)) {
        const auto reference = reference_q(s, f.h, f.tau, b);
        std::vector<float> own(f.h.begin() + b * s.n * s.n, f.h.begin() + (b + 1) * s.n * s.n);
        const auto n = static_cast<lapack_int>(s.n);
        REQUIRE(LAPACKE_sorgqr(LAPACK_COL_MAJOR, n, n, n, own.data(), n, f.tau.data() + b * s.n) ==
                0);
        for (std::int64_t i = 0; i < s.n; ++i) {
          for (std::int64_t j = 0; j < s.n; ++j) {
            const double value = formed[at((b * s.n + i) * s.n + j)];
            worst = std::max(worst, std::abs(value - reference[at(i * s.n + j)]));
            worst_lapack = std::max(worst_lapack, std::abs(value - own[at(j * s.n + i)]));
          }
        }
      }
      CHECK(worst <= static_cast<double>(s.n) * k_eps);
      CHECK(worst_lapack <= 2 * static_cast<double>(s.n) * k_eps);
    }
  }
}

KBENCH_DEVICE_TEST(form_q_special_tau, "form_q takes tau 0 as the identity and tau 2 as a mirror") {
  const auto h = to_device<float>(device, std::vector<float>{5.0f, -5.0f});
  const auto tau = to_device<float>(device, std::vector<float>{0.0f, 2.0f});
  const Buffer<float> q(device, 2);
  device.ops().form_q(h.get(), Layout::row_major, tau.get(), 2, 1, q.get());
  CHECK(to_host(device, q.get(), 2) == std::vector<float>{1.0f, -1.0f});
}

KBENCH_DEVICE_TEST(geqrf_reconstructs, "geqrf's factors multiply back to the matrix") {
  for (const Size s : sizes()) {
    CAPTURE(s.batch, s.n);
    const auto a = random_floats(s.batch * s.n * s.n, 12);
    const auto h = to_device<float>(device, transposed(s, a));
    const Buffer<float> tau(device, s.batch * s.n);
    device.ops().geqrf(h.get(), s.batch, s.n, tau.get());
    const auto h_host = to_host(device, h.get(), h.count());
    const auto tau_host = to_host(device, tau.get(), tau.count());
    double worst = 0;
    for (const std::int64_t b : probes(s.batch)) {
      const auto q = reference_q(s, h_host, tau_host, b);
      for (std::int64_t i = 0; i < s.n; ++i) {
        for (std::int64_t j = 0; j < s.n; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k <= j; ++k) {
            sum += q[at(i * s.n + k)] * double{h_host[at((b * s.n + j) * s.n + k)]};
          }
          worst = std::max(worst, std::abs(sum - double{a[at((b * s.n + i) * s.n + j)]}));
        }
      }
    }
    CHECK(worst <= 10 * static_cast<double>(s.n) * k_eps);
    for (const float value : tau_host) REQUIRE((value >= 0 && value <= 2));
  }
}

KBENCH_DEVICE_TEST(signs_of_r, "diagonal_signs gives -1 for zero and for negative R_jj") {
  const std::vector<float> h{2.0f, 9.0f, 9.0f, 0.0f, -1.0f, 9.0f, 9.0f, 3.0f};
  const auto on_device = to_device<float>(device, h);
  const Buffer<float> signs(device, 4);
  device.ops().diagonal_signs(on_device.get(), 2, 2, signs.get());
  CHECK(to_host(device, signs.get(), 4) == std::vector<float>{1.0f, -1.0f, -1.0f, 1.0f});
}

template <class T>
std::vector<T> cast(const std::vector<float>& values) {
  return std::vector<T>(values.begin(), values.end());
}

template <class T>
void multiply_matches(Device& device, double eps) {
  for (const Size s : sizes()) {
    const auto a = cast<T>(random_floats(s.batch * s.n * s.n, 13));
    const auto b = cast<T>(random_floats(s.batch * s.n * s.n, 14));
    const auto on_a = to_device<T>(device, a), on_b = to_device<T>(device, b);
    const Buffer<T> c(device, on_a.count());
    for (const Transpose ta : {Transpose::no, Transpose::yes}) {
      for (const Transpose tb : {Transpose::no, Transpose::yes}) {
        CAPTURE(s.batch, s.n, static_cast<int>(ta), static_cast<int>(tb));
        device.ops().multiply(on_a.get(), ta, on_b.get(), tb, s.batch, s.n, c.get());
        const auto product = to_host(device, c.get(), c.count());
        double worst = 0;
        for (const std::int64_t m : probes(s.batch)) {
          const auto entry = [&](const std::vector<T>& x, Transpose t, std::int64_t i,
                                 std::int64_t j) {
            return double{x[at((m * s.n + (t == Transpose::no ? i : j)) * s.n +
                               (t == Transpose::no ? j : i))]};
          };
          for (std::int64_t i = 0; i < s.n; ++i) {
            for (std::int64_t j = 0; j < s.n; ++j) {
              double sum = 0;
              for (std::int64_t k = 0; k < s.n; ++k) sum += entry(a, ta, i, k) * entry(b, tb, k, j);
              worst = std::max(worst, std::abs(sum - double{product[at((m * s.n + i) * s.n + j)]}));
            }
          }
        }
        // Far above the rounding of n products below 1, far below the 2^-11 of TF32.
        CHECK(worst <= static_cast<double>(s.n) * eps);
      }
    }
  }
}

KBENCH_DEVICE_TEST(multiply_floats,
                   "FP32 products are right for every transposition, without TF32") {
  multiply_matches<float>(device, k_eps);
}

KBENCH_DEVICE_TEST(multiply_doubles, "FP64 products are right for every transposition") {
  multiply_matches<double>(device, 0x1p-52);
}

}  // namespace
}  // namespace kbench::test
