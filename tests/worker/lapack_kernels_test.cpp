// The host baselines in front of the real checkers, with the shapes and matrices LAPACK trips over.
#include <dlfcn.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "catch.h"
#include "jobs.h"
#include "kbench_kernel.h"
#include "worker_process.h"

using namespace kbench;
using namespace kbench::test;

namespace {

struct Row {
  const char* problem;
  std::int64_t batch, n;
  const char* case_name;
};

/// A kernel driven through its descriptor alone.
class Direct {
 public:
  Direct(const std::string& problem, std::int64_t batch, std::int64_t n)
      : a(static_cast<std::size_t>(batch * n * n)),
        q(a.size()),
        l(static_cast<std::size_t>(batch * n)) {
    void* library = dlopen(kernel_path(problem, "lapack").c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    kernel_ = static_cast<const kbench_kernel*>(dlsym(library, "kbench_kernel_descriptor"));
    input_ = kbench_tensor{nullptr, {batch, n, n, 1}, 3, KBENCH_FLOAT32, KBENCH_ROW_MAJOR};
    outputs_[0] = kbench_tensor{nullptr, {batch, n, n, 1}, 3, 0, kernel_->output_layout};
    outputs_[1] = kbench_tensor{nullptr, {batch, n, 1, 1}, 2, 0, KBENCH_ROW_MAJOR};
    call_.inputs = &input_;
    call_.outputs = outputs_;
    call_.input_count = 1;
    call_.output_count = 2;
    call_.error = error;
    call_.error_size = sizeof error;
    created = kernel_->create(&call_, &state_);
  }
  ~Direct() {
    if (created == 0) kernel_->destroy(state_);
  }
  std::uint64_t workspace_bytes() const { return kernel_->workspace_bytes(state_); }
  int run() {
    std::vector<char> workspace(workspace_bytes());
    input_.data = a.data();
    outputs_[0].data = q.data();
    outputs_[1].data = l.data();
    call_.workspace = workspace.data();
    call_.workspace_bytes = workspace.size();
    return kernel_->custom_kernel(state_, &call_);
  }

  std::vector<float> a, q, l;
  char error[256] = "";
  int created = 1;

 private:
  const kbench_kernel* kernel_ = nullptr;
  void* state_ = nullptr;
  kbench_tensor input_{}, outputs_[2]{};
  kbench_call call_{};
};

}  // namespace

TEST_CASE("the host baselines pass every gate on ordinary and awkward shapes") {
  const Row rows[] = {
      {"qr_v2", 20, 32, "dense"},         {"qr_v2", 1, 1, "dense"},
      {"qr_v2", 3, 33, "rankdef"},        {"qr_v2", 1, 130, "dense"},
      {"qr_v2", 2, 176, "nearcollinear"}, {"qr_v2", 4, 64, "diagonal"},
      {"qr_v2", 70001, 2, "dense"},       {"qr_v2", 5, 7, "upper"},
      {"eigh_py", 20, 32, "dense"},       {"eigh_py", 1, 1, "dense"},
      {"eigh_py", 4, 16, "lapack_zero"},  {"eigh_py", 4, 16, "lapack_identity"},
      {"eigh_py", 1, 130, "dense"},       {"eigh_py", 2, 64, "repeated"},
      {"eigh_py", 70001, 2, "dense"},     {"eigh_py", 2, 48, "lapack_dense_even_high_magnitude"},
      {"eigh_py", 1, 1, "lapack_zero"},   {"eigh_py", 2, 48, "lapack_dense_even_low_magnitude"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.problem, row.batch, row.n, row.case_name);
    WorkerProcess worker;
    const std::string path = kernel_path(row.problem, "lapack");
    REQUIRE(worker.set_up(setup_for(path)).error == "");
    const std::optional<Reply> reply =
        worker.run(make_job(JobKind::check, path, row.problem, row.batch, row.n, row.case_name));
    REQUIRE(reply);
    CHECK(reply->error == "");
  }
}

TEST_CASE("ssyevd gets its documented workspace where the query answers too little") {
  for (const std::int64_t n : {1, 2895, 4096, 31986}) {
    Direct direct("eigh_py", 1, n);
    REQUIRE(direct.created == 0);
    const std::int64_t words = 1 + 6 * n + 2 * n * n + 3 + 5 * n;
    CHECK(direct.workspace_bytes() >= static_cast<std::uint64_t>(4 * words));
  }
}

TEST_CASE("a NaN or an infinity is refused before the solver sees it") {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    Direct direct("eigh_py", 3, 40);
    REQUIRE(direct.created == 0);
    direct.a[2 * 40 * 40 + 7] = bad;
    CHECK(direct.run() == 2);
    CHECK(std::string(direct.error) == "matrix 2 of the input has a NaN or an infinity");
  }
}

TEST_CASE("the largest finite numbers are no infinity") {
  Direct direct("eigh_py", 1, 2);
  direct.a = {std::numeric_limits<float>::max(), 0, 0, std::numeric_limits<float>::denorm_min()};
  CHECK(direct.run() == 0);
  // LAPACK scales the matrix down and up again: some roundings.
  CHECK(direct.l[1] >= std::numeric_limits<float>::max() * (1 - 1e-6f));
}

TEST_CASE("an order beyond LAPACK's 32-bit sizes is refused by create") {
  kbench_tensor huge{nullptr, {1, 40000, 40000, 1}, 3, KBENCH_FLOAT32, KBENCH_ROW_MAJOR};
  void* library = dlopen(kernel_path("eigh_py", "lapack").c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const auto* kernel =
      static_cast<const kbench_kernel*>(dlsym(library, "kbench_kernel_descriptor"));
  char error[256] = "";
  kbench_call shapes{};
  shapes.inputs = &huge;
  shapes.input_count = 1;
  shapes.error = error;
  shapes.error_size = sizeof error;
  void* state = nullptr;
  CHECK(kernel->create(&shapes, &state) != 0);
  CHECK(std::string(error) == "n is too large for LAPACK's 32-bit sizes");
}
