// Inputs that are renewed: which way each case goes, that it is exact, and that it keeps what makes
// the case what it is.
#include "problems/arrangement.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "problems/counting_device.h"
#include "problems/factors.h"

namespace kbench::test {
namespace {

Case case_of(std::string_view kind, std::int64_t batch, std::int64_t n) {
  Case spec;
  spec.batch = batch;
  spec.n = n;
  spec.cond = 1;
  spec.kind = kind;
  return spec;
}

// Symmetric, with a diagonal of distinct magnitudes that tells where each row went.
std::vector<float> telling_matrices(std::int64_t batch, std::int64_t n) {
  std::vector<float> a = random_floats(batch * n * n, 5);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < i; ++j) {
        a[at((b * n + j) * n + i)] = a[at((b * n + i) * n + j)];
      }
      a[at((b * n + i) * n + i)] = 1.0f + static_cast<float>(i) / 256;
    }
  }
  return a;
}

struct Change {
  std::vector<std::size_t> order;
  int power = 0;
};

// The order and the power of two that make the diagonal of `after` from that of `before`.
Change change_of(const float* before, const float* after, std::size_t n) {
  Change change;
  float smallest = std::abs(after[0]);
  for (std::size_t i = 0; i < n; ++i) smallest = std::min(smallest, std::abs(after[i * n + i]));
  change.power = std::ilogb(smallest);  // the smallest entry before is 1
  for (std::size_t i = 0; i < n; ++i) {
    const float entry = std::abs(std::ldexp(after[i * n + i], -change.power));
    change.order.push_back(static_cast<std::size_t>(std::lround((entry - 1) * 256)));
  }
  CHECK(before[0] == 1.0f);
  return change;
}

KBENCH_DEVICE_TEST(exact_changes,
                   "an arrangement changes places, signs and magnitude and no bit else") {
  struct Row {
    Moves moves;
    bool scale, moves_places, stays_symmetric;
  };
  const Row rows[] = {{Moves::order, true, true, true},
                      {Moves::order, false, true, true},
                      {Moves::signs, true, false, true},
                      {Moves::signs, false, false, true},
                      {Moves::signs_apart, false, false, false}};
  const std::int64_t batch = 40, n = 33;
  const auto before = telling_matrices(batch, n);
  const auto in = to_device<float>(device, before);
  for (const Row& row : rows) {
    CAPTURE(static_cast<int>(row.moves), row.scale);
    const std::vector<MatrixMoves> all(at(batch), MatrixMoves{row.moves, row.scale});
    const Buffer<float> out(device, in.count());
    Arrangement(device, n, all, 77).apply(in.get(), out.get());
    const auto after = to_host(device, out.get(), out.count());
    std::set<int> powers;
    std::set<std::vector<std::size_t>> orders;
    std::int64_t wrong = 0, asymmetric = 0, negative = 0;
    for (std::size_t b = 0; b < at(batch); ++b) {
      const float* x = before.data() + b * at(n * n);
      const float* y = after.data() + b * at(n * n);
      const Change change = change_of(x, y, at(n));
      powers.insert(change.power);
      orders.insert(change.order);
      REQUIRE(std::set(change.order.begin(), change.order.end()).size() == at(n));
      for (std::size_t i = 0; i < at(n); ++i) {
        for (std::size_t j = 0; j < at(n); ++j) {
          const float was = x[change.order[i] * at(n) + change.order[j]];
          if (std::abs(y[i * at(n) + j]) != std::ldexp(std::abs(was), change.power)) ++wrong;
          if (y[i * at(n) + j] != y[j * at(n) + i]) ++asymmetric;
          if (std::signbit(y[i * at(n) + j]) != std::signbit(was)) ++negative;
        }
      }
    }
    CHECK(wrong == 0);
    CHECK((asymmetric == 0) == row.stays_symmetric);
    // About half of the signs of 43560 entries: far more than a tenth either way.
    CHECK(negative > batch * n * n / 10);
    CHECK(negative < batch * n * n * 9 / 10);
    // 40 matrices of one power have a chance of 17^-39.
    CHECK((powers.size() > 1) == row.scale);
    CHECK(*powers.begin() >= -8);
    CHECK(*powers.rbegin() <= 8);
    CHECK(orders.size() == (row.moves_places ? at(batch) : 1));
  }
}

KBENCH_DEVICE_TEST(seeds_name_changes, "a seed names one arrangement, and another seed another") {
  const std::int64_t batch = 3, n = 20;
  const auto in = to_device<float>(device, telling_matrices(batch, n));
  const std::vector<MatrixMoves> all(3, MatrixMoves{Moves::order, true});
  const Buffer<float> a(device, in.count()), b(device, in.count());
  Arrangement(device, n, all, 1).apply(in.get(), a.get());
  Arrangement(device, n, all, 1).apply(in.get(), b.get());
  CHECK(device.equal(a.get(), b.get(), a.bytes()));
  Arrangement(device, n, all, 2).apply(in.get(), b.get());
  CHECK_FALSE(device.equal(a.get(), b.get(), a.bytes()));
}

TEST_CASE("an arrangement takes the memory it states and its use none") {
  const auto host = open_host_device();
  CountingDevice device(*host);
  const Buffer<float> in(*host, 6 * 81), out(*host, 6 * 81);
  host->fill(in.get(), 0, in.bytes());
  const Arrangement arrangement(device, 9, std::vector<MatrixMoves>(6), 1);
  CHECK(static_cast<double>(device.peak_bytes()) == Arrangement::bytes(6, 9));
  arrangement.apply(in.get(), out.get());
  CHECK(static_cast<double>(device.peak_bytes()) == Arrangement::bytes(6, 9));
}

TEST_CASE("numbers below a bound reach all of them and a hash depends on both parts in order") {
  SplitMix random(1);
  std::map<std::uint32_t, int> seen;
  for (int k = 0; k < 1000; ++k) ++seen[random.below(7)];
  CHECK(seen.size() == 7);
  CHECK(seen.rbegin()->first == 6);
  for (const auto& [value, count] : seen) CHECK(count > 70);  // 143 expected, 6 deviations
  CHECK(hash_pair(1, 2) != hash_pair(2, 1));
  CHECK(hash_pair(1, 2) == hash_pair(1, 2));
  // No progression: consecutive numbers have differences of their own.
  std::set<std::uint64_t> steps;
  for (std::uint64_t k = 0; k < 100; ++k) steps.insert(hash_pair(5, k + 1) - hash_pair(5, k));
  CHECK(steps.size() == 100);
  // First output of the reference implementation for the seed 1234567.
  CHECK(SplitMix(1234567).next() == 6457827717110365317u);
}

std::vector<float> renewed(Device& device, const Problem& problem, const Case& spec,
                           std::int64_t seed, std::uint64_t fresh) {
  const Buffer<float> a(device, spec.batch * spec.n * spec.n), b(device, a.count());
  const bool drawn = problem.renewal(spec) == Renewal::drawn;
  problem.generate(device, spec, drawn ? static_cast<std::int64_t>(fresh) : seed, a.get());
  if (drawn) return to_host(device, a.get(), a.count());
  problem.arrange(device, spec, seed, fresh).apply(a.get(), b.get());
  CHECK_NOTHROW(problem.validate_input(device, spec, b.get()));
  return to_host(device, b.get(), b.count());
}

float largest(const std::vector<float>& values) {
  float most = 0;
  for (const float value : values) most = std::max(most, std::abs(value));
  return most;
}

// Entries of magnitude zero at |i - j| > 2, which is where a band of n = 16 ends.
std::int64_t zeros_outside_band(const std::vector<float>& a, std::int64_t n) {
  std::int64_t zeros = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const auto i = static_cast<std::int64_t>(k) / n % n, j = static_cast<std::int64_t>(k) % n;
    if (std::abs(i - j) > 2 && a[k] == 0) ++zeros;
  }
  return zeros;
}

KBENCH_DEVICE_TEST(
    each_case_renews,
    "each case is renewed in its way, differs then and keeps its band and magnitude") {
  const std::set<std::string_view> fixed{"lapack_zero", "lapack_identity"};
  const std::set<std::string_view> moved{"spectrum",
                                         "rankdef",
                                         "nearrank",
                                         "repeated",
                                         "clustered",
                                         "mixed",
                                         "diagonal",
                                         "lapack_dense_even_spectrum",
                                         "lapack_dense_geometric_spectrum",
                                         "lapack_dense_clustered_spectrum",
                                         "lapack_dense_even_high_magnitude",
                                         "lapack_dense_even_low_magnitude",
                                         "lapack_band_even_spectrum",
                                         "lapack_band_even_high_magnitude",
                                         "lapack_band_even_low_magnitude"};
  for (const Problem* problem : problems()) {
    if (problem->info().free_form) continue;
    for (const std::string_view kind : problem->info().cases) {
      const bool eigh = problem->info().name == "eigh_py";
      CAPTURE(problem->info().name, kind);
      const Case spec = case_of(kind, 5, 16);
      const Renewal wanted = eigh && fixed.contains(kind)   ? Renewal::fixed
                             : eigh && moved.contains(kind) ? Renewal::moved
                                                            : Renewal::drawn;
      CHECK(problem->renewal(spec) == wanted);
      if (wanted == Renewal::fixed) continue;
      const Buffer<float> a(device, 5 * 256);
      problem->generate(device, spec, 3, a.get());
      const auto before = to_host(device, a.get(), a.count());
      const auto once = renewed(device, *problem, spec, 3, 1),
                 twice = renewed(device, *problem, spec, 3, 2);
      CHECK(differing(before, once) > 0);
      CHECK(differing(once, twice) > 0);
      if (kind.find("band") != kind.npos) {
        CHECK(zeros_outside_band(once, 16) == zeros_outside_band(before, 16));
      }
      if (kind.find("magnitude") != kind.npos && wanted == Renewal::moved) {
        CHECK(largest(once) == largest(before));
      }
    }
  }
}

KBENCH_DEVICE_TEST(mixed_bands_stay, "in a mixed batch only planted spectra change places") {
  const Problem& problem = *find_problem("eigh_py");
  const Case spec = case_of("mixed", 60, 16);
  const Buffer<float> a(device, 60 * 256);
  problem.generate(device, spec, 3, a.get());
  const auto before = to_host(device, a.get(), a.count());
  const auto after = renewed(device, problem, spec, 3, 9);
  std::int64_t bands = 0, moved = 0;
  for (std::size_t b = 0; b < 60; ++b) {
    const auto first = static_cast<std::ptrdiff_t>(b * 256);
    const std::vector<float> x(before.begin() + first, before.begin() + first + 256);
    const std::vector<float> y(after.begin() + first, after.begin() + first + 256);
    CHECK(zeros_outside_band(x, 16) == zeros_outside_band(y, 16));
    if (zeros_outside_band(x, 16) > 0) ++bands;
    bool in_place = true;
    for (std::size_t i = 0; i < 16; ++i) {
      in_place = in_place && std::remainder(std::log2(std::abs(y[17 * i] / x[17 * i])), 1.0) == 0;
    }
    if (!in_place) ++moved;
  }
  CHECK(bands > 0);
  CHECK(moved > 0);
  CHECK(moved < 60);
}

KBENCH_DEVICE_TEST(own_input_renewed,
                   "a user's own matrices keep every magnitude, and of QR every place") {
  for (const Problem* problem : problems()) {
    if (problem->info().free_form) continue;
    CAPTURE(problem->info().name);
    Case spec = case_of("lapack_zero", 3, 12);  // the name means nothing for own matrices
    spec.input_path = "A.npy";
    REQUIRE(problem->renewal(spec) == Renewal::moved);
    CHECK_FALSE(problem->needs_nominal_flops(spec));
    auto before = telling_matrices(3, 12);
    // The ends of the range: a power of two would leave it.
    before[1] = before[12] = 3e38f;
    before[2] = before[24] = 1e-45f;
    const auto in = to_device<float>(device, before);
    const Buffer<float> out(device, in.count());
    problem->arrange(device, spec, 3, 8).apply(in.get(), out.get());
    auto after = to_host(device, out.get(), out.count());
    CHECK(differing(before, after) > 0);
    for (auto* values : {&before, &after}) {
      for (float& value : *values) value = std::abs(value);
    }
    if (problem->info().name == "qr_v2") CHECK(differing(before, after) == 0);
    std::sort(before.begin(), before.begin() + 144);
    std::sort(after.begin(), after.begin() + 144);
    CHECK(std::equal(before.begin(), before.begin() + 144, after.begin()));
  }
}

TEST_CASE("only cases without structure are held to the nominal operations") {
  const std::map<std::string_view, std::set<std::string_view>> unstructured{
      {"qr_v2", {"dense", "rowscale", "nearcollinear"}}, {"eigh_py", {"dense", "psd"}}};
  for (const Problem* problem : problems()) {
    if (problem->info().free_form) continue;
    for (const std::string_view kind : problem->info().cases) {
      CAPTURE(problem->info().name, kind);
      CHECK(problem->needs_nominal_flops(case_of(kind, 2, 8)) ==
            unstructured.at(problem->info().name).contains(kind));
    }
  }
}

}  // namespace
}  // namespace kbench::test
