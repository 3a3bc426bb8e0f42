// The tridiagonal eigensolver of the eigh_py kernels, compiled for the host, against LAPACK in
// FP64.
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../problems/factors.h"
#include "catch.h"
#include "problems/eigh_py.h"
#include "spectra.h"
#include "tridiagonal/eigensolver.cuh"

using namespace kbench::test;

namespace {

constexpr double k_eps = std::numeric_limits<float>::epsilon();

double bound_of(const Tridiagonal& t) {
  double bound = 0;
  const std::size_t n = t.d.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double left = i == 0 ? 0 : std::fabs(t.e[i - 1]);
    const double right = i + 1 == n ? 0 : std::fabs(t.e[i]);
    bound = std::max(bound, std::fabs(double{t.d[i]}) + left + right);
  }
  return bound == 0 ? 1 : bound;
}

/// All eigenpairs, as the threads of a device make them.
struct Solution {
  std::vector<double> values;
  std::vector<int> rounds;     // of the search, per value
  std::vector<float> vectors;  // entry i of vector k at [i n + k], normalised
};

constexpr int k_group = 32;    // neighbours that search together
constexpr int k_points = 128;  // of the grid that all searches begin with

std::vector<tridiagonal::Row> rows_of(const Tridiagonal& t, const std::vector<float>& couplings,
                                      double bound) {
  const int n = static_cast<int>(t.d.size());
  std::vector<tridiagonal::Row> rows;
  for (int i = 0; i < tridiagonal::padded_rows(n); ++i) {
    const auto at = static_cast<std::size_t>(i);
    rows.push_back(i < n ? tridiagonal::make_row(t.d[at], i == 0 ? 0 : couplings[at - 1], bound, i)
                         : tridiagonal::padding_row(bound));
  }
  return rows;
}

/// The eigenvalues first .. last and the rounds they took.
void search_group(const std::vector<tridiagonal::Row>& rows, double bound, int first, int last,
                  Solution& solution) {
  const int count = static_cast<int>(rows.size());
  const double width = tridiagonal::final_width(bound);
  const auto at_grid = [&](int i) {
    return tridiagonal::sample_at(rows.data(), count, tridiagonal::grid_point(bound, i, k_points));
  };
  std::vector<tridiagonal::Search> searches;
  for (int k = first; k <= last; ++k) {
    int point = 1;
    while (point < k_points - 1 && at_grid(point).below <= k) ++point;
    searches.push_back({at_grid(point - 1), at_grid(point), 0, 0});
  }
  std::vector<tridiagonal::Sample> samples(searches.size());
  for (bool any = true; any;) {
    any = false;
    std::vector<char> open;
    for (const auto& search : searches) open.push_back(tridiagonal::is_open(search, width) ? 1 : 0);
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i] == 0) continue;
      any = true;
      ++solution.rounds[static_cast<std::size_t>(first) + i];
      const double point =
          tridiagonal::next_point(searches[i], first + static_cast<int>(i), first, last, width);
      samples[i] = tridiagonal::sample_at(rows.data(), count, point);
    }
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i] == 0) continue;
      tridiagonal::narrow(searches[i], first + static_cast<int>(i), first, last, samples.data());
    }
  }
  for (std::size_t i = 0; i < searches.size(); ++i) {
    solution.values[static_cast<std::size_t>(first) + i] = tridiagonal::middle_of(searches[i]);
  }
}

Solution solve(const Tridiagonal& t) {
  const int n = static_cast<int>(t.d.size());
  const std::size_t size = t.d.size();
  const double bound = bound_of(t);
  std::vector<float> couplings;
  for (const float e : t.e) couplings.push_back(tridiagonal::make_coupling(e, bound));
  const std::vector<tridiagonal::Row> rows = rows_of(t, couplings, bound);
  Solution solution{std::vector<double>(size), std::vector<int>(size),
                    std::vector<float>(size * size)};
  for (int first = 0; first < n; first += k_group) {
    search_group(rows, bound, first, std::min(first + k_group, n) - 1, solution);
  }
  std::vector<double> pivots(size * size);
  for (int k = 0; k < n; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const tridiagonal::VectorTask task{rows.data(), couplings.data(),  n,
                                       n,           pivots.data() + k, solution.vectors.data() + k};
    const float scale = tridiagonal::twisted_vector(task, solution.values[at], bound);
    for (std::size_t i = 0; i < size; ++i) solution.vectors[i * size + at] *= scale;
  }
  return solution;
}

/// Errors as multiples of the units they are judged in.
struct Errors {
  double value;     // max |lambda - LAPACK's| in eps |T|
  double residual;  // norm1(T Z - Z L) in eps |T|
  double orth;      // norm1(Z^T Z - I) in n eps
};

double residual_of(const Tridiagonal& t, const Solution& s) {
  const std::size_t n = t.d.size();
  double worst = 0;
  for (std::size_t k = 0; k < n; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double entry = (t.d[i] - s.values[k]) * s.vectors[i * n + k];
      if (i > 0) entry += double{t.e[i - 1]} * s.vectors[(i - 1) * n + k];
      if (i + 1 < n) entry += double{t.e[i]} * s.vectors[(i + 1) * n + k];
      sum += std::fabs(entry);
    }
    worst = std::max(worst, sum);
  }
  return worst;
}

double orthogonality_of(const Solution& s, std::size_t n) {
  std::vector<double> gram(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      const double left = s.vectors[i * n + k];
      for (std::size_t l = 0; l < n; ++l) gram[k * n + l] += left * s.vectors[i * n + l];
    }
  }
  double worst = 0;
  for (std::size_t k = 0; k < n; ++k) {
    double sum = 0;
    for (std::size_t l = 0; l < n; ++l) sum += std::fabs(gram[k * n + l] - (k == l ? 1 : 0));
    worst = std::max(worst, sum);
  }
  return worst;
}

Errors errors_of(const Tridiagonal& t) {
  const std::size_t n = t.d.size();
  const Solution solution = solve(t);
  std::vector<double> d(t.d.begin(), t.d.end()), e(t.e.begin(), t.e.end());
  e.resize(n);
  REQUIRE(LAPACKE_dsterf(static_cast<lapack_int>(n), d.data(), e.data()) == 0);
  const double bound = bound_of(t);
  double value = 0;
  for (std::size_t k = 0; k < n; ++k) value = std::max(value, std::fabs(solution.values[k] - d[k]));
  return {value / (k_eps * bound), residual_of(t, solution) / (k_eps * bound),
          orthogonality_of(solution, n) / (static_cast<double>(n) * k_eps)};
}

/// The shifts move every eigenvalue by at most half their width, two ulps; a residual summed over n
/// entries is at most sqrt(n) of that and of the rounding of Z. Orthogonality is gated at 100 in
/// the same units, of which the back-transformation needs some.
void require_small(const Errors& errors, std::size_t n) {
  CHECK(errors.value <= 2.01);
  CHECK(errors.residual <= 4 * std::sqrt(static_cast<double>(n)));
  CHECK(errors.orth <= 4);
}

}  // namespace

TEST_CASE("thousands of tridiagonals that solvers trip over are solved to FP32 accuracy") {
  std::mt19937 draws(11);
  for (const std::string& name : tridiagonal_names()) {
    for (int n = 1; n <= 130; ++n) {
      INFO(name << ", n = " << n);
      require_small(errors_of(tridiagonal_of(name, n, draws)), static_cast<std::size_t>(n));
    }
  }
}

TEST_CASE("the reduced form of every spectrum is solved to FP32 accuracy") {
  std::mt19937 draws(12);
  for (const std::string& name : spectrum_names()) {
    for (int n = 1; n <= 176; n += n < 40 ? 1 : 17) {
      INFO(name << ", n = " << n);
      const Tridiagonal t = reduced(planted(spectrum(name, n), draws));
      require_small(errors_of(t), static_cast<std::size_t>(n));
    }
  }
}

TEST_CASE("the reduced form of every case of the problem is solved to FP32 accuracy") {
  constexpr std::int64_t batch = 4;
  for (const std::string_view kind : kbench::eigh_py().info().cases) {
    for (const std::int64_t n : {1, 2, 3, 8, 33, 64, 129}) {
      const std::vector<float> a = generated(kbench::eigh_py(), kind, batch, n);
      for (std::int64_t k = 0; k < batch; ++k) {
        INFO(kind << ", n = " << n << ", matrix " << k);
        const auto from = a.begin() + k * n * n;
        const Tridiagonal t = reduced(std::vector<float>(from, from + n * n));
        require_small(errors_of(t), static_cast<std::size_t>(n));
      }
    }
  }
}

TEST_CASE("clusters of hundreds of duplicates stay orthogonal") {
  std::mt19937 draws(13);
  for (const char* name : {"identity", "glued wilkinson 0", "glued wilkinson 1e-10", "normal"}) {
    INFO(name);
    require_small(errors_of(tridiagonal_of(name, 504, draws)), 504);
  }
  for (const char* name : {"repeated", "rankdef", "lapack_clustered"}) {
    INFO(name);
    require_small(errors_of(reduced(planted(spectrum(name, 504), draws))), 504);
  }
}

TEST_CASE("a power of two in front of the matrix changes no bit of the vectors") {
  std::mt19937 draws(14);
  const Tridiagonal t = tridiagonal_of("normal", 77, draws);
  const Solution plain = solve(t);
  for (const float scale : {0x1p-60f, 0x1p60f}) {
    Tridiagonal scaled = t;
    for (float& d : scaled.d) d *= scale;
    for (float& e : scaled.e) e *= scale;
    const Solution same = solve(scaled);
    CHECK(same.vectors == plain.vectors);
    CHECK(same.values.back() == plain.values.back() * scale);
  }
}

TEST_CASE("searches end long before bisection would") {
  std::mt19937 draws(15);
  // Bisection from the grid to 2^-53 of the matrix takes 47 rounds. What a warp takes is the most
  // of its lanes.
  const struct {
    const char* spectrum;
    double mean;
    int most;
  } cases[] = {
      {"spectrum", 23, 28}, {"lapack_even", 20, 25}, {"rankdef", 23, 35}, {"clustered", 25, 35}};
  for (const auto& c : cases) {
    const Solution s = solve(reduced(planted(spectrum(c.spectrum, 512), draws)));
    double sum = 0;
    for (std::size_t k = 0; k < s.rounds.size(); k += k_group) {
      const auto from = s.rounds.begin() + static_cast<std::ptrdiff_t>(k);
      sum += *std::max_element(from, from + k_group);
    }
    const double mean = sum * k_group / static_cast<double>(s.rounds.size());
    const int most = *std::max_element(s.rounds.begin(), s.rounds.end());
    INFO(c.spectrum << ": mean of warps " << mean << ", most " << most);
    CHECK(mean <= c.mean);
    CHECK(most <= c.most);
  }
}
