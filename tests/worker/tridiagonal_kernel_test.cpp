// The eigh_py kernels `tridiagonal` and `precise` in front of a real worker on a GPU: half of every
// gate, and no matrix solved twice, on shapes and matrices that no task file has.
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "catch.h"
#include "core/npy.h"
#include "jobs.h"
#include "worker_process.h"

using namespace kbench;
using namespace kbench::test;

namespace {

constexpr const char* k_kernels[] = {"tridiagonal", "precise"};

Job job_of(const char* kernel, std::int64_t batch, std::int64_t n, const char* kind) {
  return make_job(JobKind::check, kernel_path("eigh_py", kernel), "eigh_py", batch, n, kind);
}

void require_half_of_each_gate(const Job& job) {
  WorkerProcess worker;
  REQUIRE(worker.set_up(setup_for(job.kernel_path, DeviceRequest::Kind::cuda)).error == "");
  const std::optional<Reply> reply = worker.run(job);
  REQUIRE(reply);
  CHECK(reply->error == "");
  CHECK(reply->worst_of_gate <= 0.5);
  CHECK_THAT(reply->kernel_report, ContainsSubstring("flagged=0"));
}

/// A symmetric [n, n] by its entries on and below the diagonal.
using Entry = std::function<float(std::int64_t i, std::int64_t j)>;

std::vector<float> matrix_of(std::int64_t n, const Entry& entry) {
  std::vector<float> a(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      a[static_cast<std::size_t>(i * n + j)] = a[static_cast<std::size_t>(j * n + i)] = entry(i, j);
    }
  }
  return a;
}

/// Dense, smooth and of full rank.
float wave(std::int64_t i, std::int64_t j) {
  return std::sin(static_cast<float>(i * i + 3 * j)) + (i == j ? 1.0f : 0.0f);
}
/// Copies of Wilkinson's W21+ side by side, coupled by `glue`.
float wilkinson(std::int64_t i, std::int64_t j, float glue) {
  if (i == j) return std::fabs(static_cast<float>(i % 21) - 10);
  if (i != j + 1) return 0;
  return i % 21 == 0 ? glue : 1.0f;
}

}  // namespace

TEST_CASE("the tridiagonal kernels take matrices of any size", "[gpu]") {
  struct Row {
    std::int64_t batch, n;
    const char* kind;
  };
  const Row rows[] = {{7, 1, "dense"},
                      {7, 2, "dense"},
                      {70001, 3, "dense"},
                      {9, 33, "mixed"},
                      {3, 177, "clustered"},
                      {2, 513, "rankdef"},
                      {1, 2050, "dense"},
                      {1, 4600, "dense"},
                      {1, 4900, "dense"},
                      {16, 512, "lapack_zero"},
                      {3, 64, "repeated"},
                      {2, 301, "nearrank"},
                      {3, 400, "lapack_identity"},
                      {133, 96, "rowscale"}};
  for (const char* kernel : k_kernels) {
    for (const Row& row : rows) {
      CAPTURE(kernel, row.batch, row.n, row.kind);
      require_half_of_each_gate(job_of(kernel, row.batch, row.n, row.kind));
    }
  }
}

TEST_CASE("the tridiagonal kernels take extreme magnitudes and exact duplicates", "[gpu]") {
  struct Row {
    const char* name;
    std::int64_t n;
    Entry entry;
  };
  const Row rows[] = {
      {"tiny", 100, [](auto i, auto j) { return std::ldexp(wave(i, j), -60); }},
      {"huge", 100, [](auto i, auto j) { return std::ldexp(wave(i, j), 60); }},
      {"identity", 513, [](auto i, auto j) { return i == j ? 1.0f : 0.0f; }},
      {"zero", 33, [](auto, auto) { return 0.0f; }},
      {"duplicates", 300, [](auto i, auto j) { return i == j ? static_cast<float>(i % 3) : 0.0f; }},
      {"all ones", 257, [](auto, auto) { return 1.0f; }},
      {"apart", 504, [](auto i, auto j) { return wilkinson(i, j, 0); }},
      {"barely glued", 504, [](auto i, auto j) { return wilkinson(i, j, 1e-10f); }},
      {"glued", 504, [](auto i, auto j) { return wilkinson(i, j, 1e-4f); }},
  };
  TemporaryFolder folder("tridiagonal_kernel");
  for (const char* kernel : k_kernels) {
    for (const Row& row : rows) {
      CAPTURE(kernel, row.name);
      Job job = job_of(kernel, 1, row.n, "dense");
      job.spec.input_path = folder / "a.npy";
      write_npy(job.spec.input_path, {row.n, row.n}, matrix_of(row.n, row.entry).data());
      require_half_of_each_gate(job);
    }
  }
}
