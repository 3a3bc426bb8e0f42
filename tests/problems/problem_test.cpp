// The table of problems, memory that is stated beforehand, and a user's own matrices.
#include "problems/problem.h"

#include <cmath>
#include <limits>
#include <set>

#include "problems/counting_device.h"
#include "problems/eigh_py.h"
#include "problems/factors.h"
#include "problems/qr_v2.h"

namespace kbench::test {
namespace {

constexpr float k_nan = std::numeric_limits<float>::quiet_NaN();

Case case_of(std::string_view kind, std::int64_t batch, std::int64_t n) {
  Case spec;
  spec.batch = batch;
  spec.n = n;
  spec.cond = 2;
  spec.kind = kind;
  return spec;
}

TEST_CASE("the problems are in the table, with every case once and dense first") {
  REQUIRE(problems().size() == 3);
  const struct {
    const char* name;
    std::size_t cases;
    std::vector<std::string_view> outputs;
  } rows[] = {{"qr_v2", 10, {"H", "tau"}}, {"eigh_py", 29, {"Q", "L"}}};
  for (const auto& row : rows) {
    const Problem* problem = find_problem(row.name);
    REQUIRE(problem != nullptr);
    const ProblemInfo& info = problem->info();
    CHECK(info.cases.size() == row.cases);
    CHECK(std::set<std::string_view>(info.cases.begin(), info.cases.end()).size() == row.cases);
    CHECK(info.cases.front() == "dense");
    CHECK(info.output_names == row.outputs);
    CHECK(problem->outputs()[0].rank == 3);
    CHECK(problem->outputs()[1].rank == 2);
    CHECK(info.nominal_flops(2, 3) > 0);
    CHECK(info.nominal_bytes(2, 3) == 2 * (9 * 8 + 3 * 4));
  }
  CHECK(find_problem("qr_v1") == nullptr);
}

KBENCH_DEVICE_TEST(every_case_every_size, "every case fills every element for the smallest sizes") {
  for (const Problem* problem : problems()) {
    if (problem->info().free_form) continue;
    for (const std::string_view kind : problem->info().cases) {
      for (const Size s :
           {Size{1, 1}, Size{3, 1}, Size{1, 2}, Size{2, 3}, Size{3, 7}, Size{2, 8}}) {
        CAPTURE(problem->info().name, kind, s.batch, s.n);
        const Buffer<float> a(device, s.batch * s.n * s.n);
        device.fill(a.get(), 0xff, a.bytes());
        problem->generate(device, case_of(kind, s.batch, s.n), 99, a.get());
        CHECK(device.ops().first_non_finite(a.get(), a.count()) == -1);
        CHECK_NOTHROW(problem->validate_input(device, case_of(kind, s.batch, s.n), a.get()));
      }
    }
  }
}

KBENCH_DEVICE_TEST(large_batches, "batches beyond 65536 are generated to the last matrix") {
  for (const Problem* problem : problems()) {
    if (problem->info().free_form) continue;
    for (const std::string_view kind : problem->info().cases) {
      CAPTURE(problem->info().name, kind);
      const Size s{70001, 2};
      const Buffer<float> a(device, s.batch * s.n * s.n);
      device.fill(a.get(), 0xff, a.bytes());
      problem->generate(device, case_of(kind, s.batch, s.n), 99, a.get());
      CHECK(device.ops().first_non_finite(a.get(), a.count()) == -1);
    }
  }
}

// Root mean square of a[:, j + shift] - a[:, j] over all matrices.
double column_distance(const std::vector<float>& a, std::int64_t n, std::int64_t shift) {
  double sum = 0;
  std::int64_t count = 0;
  for (std::size_t row = 0; row < a.size(); row += at(n)) {
    for (std::int64_t j = 0; j + shift < n; ++j, ++count) {
      const double difference = double{a[row + at(j + shift)]} - double{a[row + at(j)]};
      sum += difference * difference;
    }
  }
  return std::sqrt(sum / static_cast<double>(count));
}

KBENCH_DEVICE_TEST(nearly_equal, "nearly equal columns differ by noise of the stated size") {
  const std::int64_t batch = 4, n = 64;
  const Buffer<float> a(device, batch * n * n);
  Case spec = case_of("nearrank", batch, n);
  spec.cond = 0;
  find_problem("qr_v2")->generate(device, spec, 1, a.get());
  // 4096 differences: five standard deviations of their mean square are 11 %.
  CHECK(std::abs(column_distance(to_host(device, a.get(), a.count()), n, 48) / 1e-5 - 1) < 0.06);
  spec.kind = "nearcollinear";
  find_problem("qr_v2")->generate(device, spec, 1, a.get());
  const double two_noises = std::sqrt(2.0) * 1e-4;
  CHECK(std::abs(column_distance(to_host(device, a.get(), a.count()), n, 1) / two_noises - 1) <
        0.06);
}

KBENCH_DEVICE_TEST(same_seed_same_input, "a seed names one input, and another seed another") {
  for (const Problem* problem : problems()) {
    if (problem->info().free_form) continue;
    const Case spec = case_of("mixed", 6, 16);
    const Buffer<float> a(device, 6 * 256), b(device, 6 * 256);
    problem->generate(device, spec, 5, a.get());
    problem->generate(device, spec, 5, b.get());
    CHECK(device.equal(a.get(), b.get(), a.bytes()));
    problem->generate(device, spec, 6, b.get());
    CHECK_FALSE(device.equal(a.get(), b.get(), a.bytes()));
  }
}

TEST_CASE("matrices made in slices are those made at once") {
  const auto device = open_host_device();
  for (const std::string_view kind : {"spectrum", "psd", "mixed"}) {
    const std::int64_t batch = 7, n = 9, count = batch * n * n;
    std::vector<std::vector<float>> made;
    for (const double slice_bytes : {1e9, 2e3, 1.0}) {
      TorchGenerator draws(*device, 5);
      const Buffer<float> a(*device, count);
      make_matrices(eigh_py_cases(), kind, Group{draws, a.get(), batch, n, 2, slice_bytes});
      made.push_back(to_host(*device, a.get(), count));
    }
    CAPTURE(kind);
    CHECK(differing(made[0], made[1]) == 0);
    CHECK(differing(made[0], made[2]) == 0);
  }
  // One spectrum a matrix: a slice must take the values of its own matrices.
  const std::vector<float> v{1, 2, 3, 4, 5, 6};
  for (const double slice_bytes : {1e9, 1.0}) {
    TorchGenerator draws(*device, 5);
    const Buffer<float> a(*device, 12);
    plant(Group{draws, a.get(), 3, 2, 0, slice_bytes}, v);
    const auto values = to_host(*device, a.get(), 12);
    for (std::size_t b = 0; b < 3; ++b) {
      CHECK(std::abs(values[4 * b] + values[4 * b + 3] - (v[2 * b] + v[2 * b + 1])) < 1e-5f);
    }
  }
}

TEST_CASE("the memory stated for a generator is what it takes") {
  const auto host = open_host_device();
  for (const bool qr : {true, false}) {
    const auto table = qr ? qr_v2_cases() : eigh_py_cases();
    std::vector<std::string_view> kinds{"mixed"};
    for (const MatrixCase& row : table) kinds.push_back(row.name);
    for (const std::string_view kind : kinds) {
      for (const Size s : {Size{2, 1}, Size{2, 64}, Size{30, 33}}) {
        CAPTURE(qr, kind, s.batch, s.n);
        CountingDevice device(*host);
        const Buffer<float> a(*host, s.batch * s.n * s.n);
        TorchGenerator draws(device, 1);
        make_matrices(table, kind, Group{draws, a.get(), s.batch, s.n, 2});
        const auto peak = static_cast<double>(device.peak_bytes());
        CHECK(peak <= generator_bytes(table, kind, s.batch, s.n));
      }
    }
  }
}

TEST_CASE("generator and checker stay within the scratch memory stated beforehand") {
  const auto host = open_host_device();
  for (const Problem* problem : problems()) {
    if (problem->info().free_form) continue;
    for (const std::string_view kind : problem->info().cases) {
      for (const Size s : {Size{40, 1}, Size{30, 33}, Size{2, 150}}) {
        CAPTURE(problem->info().name, kind, s.batch, s.n);
        const Case spec = case_of(kind, s.batch, s.n);
        CountingDevice device(*host);
        const Buffer<float> a(device, s.batch * s.n * s.n);
        const std::int64_t inputs = a.bytes();
        problem->generate(device, spec, 3, a.get());
        CHECK(device.peak_bytes() - inputs <= problem->scratch_bytes(spec));
        device.reset_peak();
        problem->validate_input(device, spec, a.get());
        const auto checker = problem->make_checker(device, s.batch, s.n);
        CHECK(device.peak_bytes() - inputs <= problem->scratch_bytes(spec));
        CHECK(device.peak_bytes() > inputs);
      }
    }
  }
}

TEST_CASE("a checker allocates nothing from check to check") {
  const auto host = open_host_device();
  for (const Problem* problem : problems()) {
    if (problem->info().free_form) continue;
    CountingDevice device(*host);
    const std::int64_t batch = 5, n = 9;
    const auto checker = problem->make_checker(device, batch, n);
    const Buffer<float> a(*host, batch * n * n), m(*host, batch * n * n), v(*host, batch * n);
    for (const Buffer<float>* buffer : {&a, &m, &v}) host->fill(buffer->get(), 0, buffer->bytes());
    const std::int64_t held = device.peak_bytes();
    const float* outputs[] = {m.get(), v.get()};
    for (int i = 0; i < 3; ++i) checker->check(a.get(), outputs, Layout::row_major, true);
    CHECK(device.peak_bytes() == held);
  }
}

TEST_CASE("scratch memory is bounded by slices and never wraps") {
  for (const Problem* problem : problems()) {
    if (problem->info().free_form) continue;
    for (const std::string_view kind : problem->info().cases) {
      CAPTURE(problem->info().name, kind);
      const auto scratch = [&](std::int64_t batch, std::int64_t n) {
        return problem->scratch_bytes(case_of(kind, batch, n));
      };
      if (kind == "dense") CHECK(scratch(100000, 512) <= 4'000'000'000);
      CHECK(scratch(1, 23171) > std::int64_t{23171} * 23171 * 24);
      CHECK(scratch(std::int64_t{1} << 30, std::int64_t{1} << 15) > 0);
      CHECK(scratch(1, std::int64_t{1} << 30) > std::int64_t{1} << 60);
    }
  }
}

std::string refusal(Device& device, const char* name, std::int64_t n, std::vector<float> values) {
  const auto a = to_device<float>(device, values);
  const auto batch = static_cast<std::int64_t>(values.size()) / (n * n);
  try {
    find_problem(name)->validate_input(device, case_of("dense", batch, n), a.get());
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::case_failed);
    return error.what();
  }
  return "";
}

KBENCH_DEVICE_TEST(own_matrices,
                   "a user's matrices that a problem is not defined for are refused") {
  const std::vector<float> general{1, 2, 2, 1, 1, 2, 3, 1};
  CHECK(refusal(device, "qr_v2", 2, general) == "");
  CHECK_THAT(refusal(device, "eigh_py", 2, general),
             StartsWith("the input is not symmetric (matrix 1 of 2: norm1(A - A^T) = 1, allowed "));
  const float rounded = std::nextafter(2.0f, 3.0f);
  CHECK(refusal(device, "eigh_py", 2, {1, 2, rounded, 1}) == "");
  for (const char* name : {"qr_v2", "eigh_py"}) {
    CHECK(refusal(device, name, 2, {1, 2, 2, 1, 1, 0, k_nan, 1}) ==
          "the input is not finite (matrix 1, row 1, column 0: nan); give matrices without NaN and "
          "Inf");
  }
}

}  // namespace
}  // namespace kbench::test
