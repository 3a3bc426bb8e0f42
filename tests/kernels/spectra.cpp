// Test matrices for eigensolvers, made with LAPACK in FP64 where they have to be dense.
#include "spectra.h"

#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace kbench::test {
namespace {

using Spectrum = std::function<double(double t, int i)>;  // t in [0, 1], i from 0

double power(double low, double t) { return std::pow(10.0, low * (1 - t)); }

const std::map<std::string, Spectrum>& spectra() {
  static const std::map<std::string, Spectrum> table = {
      {"spectrum", [](double t, int i) { return (i % 2 == 0 ? -1 : 1) * power(-4, t); }},
      {"psd", [](double t, int) { return power(-4, t); }},
      {"rankdef", [](double t, int) { return t < 0.25 ? 0 : power(-1, t); }},
      {"nearrank", [](double t, int) { return t < 0.25 ? 1e-6 * power(-2, t) : power(-1, t); }},
      {"repeated", [](double t, int) { return std::floor(15.99 * t) / 7.5 - 1; }},
      {"clustered", [](double t, int) { return (t > 0.33 ? 1 : -1) + 1e-5 * (2 * t - 1); }},
      {"lapack_even", [](double t, int i) { return (i % 3 == 0 ? -1 : 1) * (1 - t); }},
      {"lapack_geometric", [](double t, int i) { return (i % 3 == 0 ? -1 : 1) * power(-6.6, t); }},
      {"lapack_clustered", [](double t, int) { return t == 0 ? 1 : 2.4e-7; }},
      {"all_equal", [](double, int) { return 1.0; }},
  };
  return table;
}

using Entries = std::function<void(Tridiagonal&, std::mt19937&)>;

void draw(std::vector<float>& values, std::mt19937& draws) {
  std::normal_distribution<float> normal;
  for (float& value : values) value = normal(draws);
}

/// Copies of Wilkinson's W21+, coupled by `glue`: clusters of exact duplicates.
void glue_wilkinson(Tridiagonal& t, float glue) {
  for (std::size_t i = 0; i < t.d.size(); ++i) {
    t.d[i] = std::fabs(static_cast<float>(i % 21) - 10);
    if (i < t.e.size()) t.e[i] = i % 21 == 20 ? glue : 1;
  }
}

const std::map<std::string, Entries>& tridiagonals() {
  static const std::map<std::string, Entries> table = {
      {"normal", [](Tridiagonal& t, std::mt19937& r) { draw(t.d, r), draw(t.e, r); }},
      {"second difference",
       [](Tridiagonal& t, std::mt19937&) {
         std::fill(t.d.begin(), t.d.end(), 2.0f);
         std::fill(t.e.begin(), t.e.end(), -1.0f);
       }},
      {"zero", [](Tridiagonal&, std::mt19937&) {}},
      {"identity", [](Tridiagonal& t, std::mt19937&) { std::fill(t.d.begin(), t.d.end(), 1.0f); }},
      {"diagonal", [](Tridiagonal& t, std::mt19937& r) { draw(t.d, r); }},
      {"only couplings", [](Tridiagonal& t, std::mt19937& r) { draw(t.e, r); }},
      {"equal couplings",
       [](Tridiagonal& t, std::mt19937&) { std::fill(t.e.begin(), t.e.end(), 1.0f); }},
      {"tiny couplings",
       [](Tridiagonal& t, std::mt19937& r) {
         draw(t.d, r), draw(t.e, r);
         for (float& e : t.e) e *= 1e-9f;
       }},
      {"tiny couplings of equals",
       [](Tridiagonal& t, std::mt19937& r) {
         draw(t.e, r);
         std::fill(t.d.begin(), t.d.end(), 1.0f);
         for (float& e : t.e) e *= 1e-12f;
       }},
      {"some zero couplings",
       [](Tridiagonal& t, std::mt19937& r) {
         draw(t.d, r), draw(t.e, r);
         for (std::size_t i = 0; i < t.e.size(); i += 3) t.e[i] = 0;
       }},
      {"subnormal couplings",
       [](Tridiagonal& t, std::mt19937& r) {
         draw(t.d, r);
         std::fill(t.e.begin(), t.e.end(), 1e-41f);
       }},
      {"graded",
       [](Tridiagonal& t, std::mt19937& r) {
         draw(t.d, r), draw(t.e, r);
         float scale = 1;
         for (std::size_t i = 0; i < t.d.size(); ++i, scale *= 0.7f) {
           t.d[i] *= scale;
           if (i < t.e.size()) t.e[i] *= scale;
         }
       }},
      {"wilkinson", [](Tridiagonal& t, std::mt19937&) { glue_wilkinson(t, 1.0f); }},
      {"glued wilkinson 1e-4", [](Tridiagonal& t, std::mt19937&) { glue_wilkinson(t, 1e-4f); }},
      {"glued wilkinson 1e-10", [](Tridiagonal& t, std::mt19937&) { glue_wilkinson(t, 1e-10f); }},
      {"glued wilkinson 0", [](Tridiagonal& t, std::mt19937&) { glue_wilkinson(t, 0.0f); }},
  };
  return table;
}

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.push_back(row.first);
  return names;
}

}  // namespace

std::vector<std::string> spectrum_names() { return names_of(spectra()); }
std::vector<std::string> tridiagonal_names() { return names_of(tridiagonals()); }

std::vector<double> spectrum(const std::string& name, int n) {
  const auto row = spectra().find(name);
  if (row == spectra().end()) return {};
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(row->second(n == 1 ? 1.0 : i / (n - 1.0), i));
  return values;
}

std::vector<float> planted(const std::vector<double>& eigenvalues, std::mt19937& draws) {
  const auto n = static_cast<lapack_int>(eigenvalues.size());
  const std::size_t size = eigenvalues.size();
  std::vector<double> q(size * size), tau(size), product(size * size);
  std::normal_distribution<double> normal;
  for (double& value : q) value = normal(draws);
  LAPACKE_dgeqrf(LAPACK_COL_MAJOR, n, n, q.data(), n, tau.data());
  LAPACKE_dorgqr(LAPACK_COL_MAJOR, n, n, n, q.data(), n, tau.data());
  std::vector<double> scaled = q;
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t i = 0; i < size; ++i) scaled[j * size + i] *= eigenvalues[j];
  }
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, n, n, 1, scaled.data(), n, q.data(), n, 0,
              product.data(), n);
  std::vector<float> a(size * size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      a[i * size + j] = static_cast<float>(0.5 * (product[i * size + j] + product[j * size + i]));
    }
  }
  return a;
}

Tridiagonal reduced(std::vector<float> a) {
  const auto n = static_cast<lapack_int>(std::lround(std::sqrt(a.size())));
  Tridiagonal t{std::vector<float>(static_cast<std::size_t>(n)),
                std::vector<float>(static_cast<std::size_t>(n > 0 ? n - 1 : 0))};
  std::vector<float> tau(static_cast<std::size_t>(n));
  LAPACKE_ssytrd(LAPACK_COL_MAJOR, 'L', n, a.data(), n, t.d.data(), t.e.data(), tau.data());
  return t;
}

std::vector<float> nearly_degenerate() {
  constexpr std::size_t n = k_nearly_degenerate_size;
  std::vector<float> a(n * n);
  const auto couple = [&](std::size_t i, float e) { a[i * n + i + 1] = a[(i + 1) * n + i] = e; };
  for (std::size_t i = 0; i < n; ++i) a[i * n + i] = 1 + static_cast<float>(i) / 64;
  // Rows 0 and 8 know of each other through seven rows in between: 2^-48 / 0.8125^7.
  for (std::size_t i = 0; i < 8; ++i) couple(i, 0x1p-6f), a[i * n + i] = 0.8125f;
  a[0] = 0;
  a[8 * n + 8] = 0x1.6da246p-25f;  // takes back what the shifts of rows 0 and 8 differ by
  return a;
}

Tridiagonal tridiagonal_of(const std::string& name, int n, std::mt19937& draws) {
  Tridiagonal t{std::vector<float>(static_cast<std::size_t>(n)),
                std::vector<float>(static_cast<std::size_t>(n - 1))};
  tridiagonals().at(name)(t, draws);
  return t;
}

}  // namespace kbench::test
