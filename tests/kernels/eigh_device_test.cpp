// The eigh_py kernels `tridiagonal` and `precise` on a GPU, called as plug-ins inside this process:
// what needs their outputs as they are, bit for bit.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "../device/device_cases.h"
#include "../worker/jobs.h"
#include "catch.h"
#include "eigenvalues.h"
#include "problems/eigh_py.h"
#include "spectra.h"
#include "worker/kernel_plugin.h"

using namespace kbench;
using namespace kbench::test;

namespace {

struct Pairs {
  std::vector<float> q, l;  // [batch, n, n] row-major, [batch, n]
};

constexpr const char* k_kernels[] = {"tridiagonal", "precise"};

/// One shape of one kernel, from create to destroy.
class Solver {
 public:
  Solver(Device& device, const char* kernel_name, std::int64_t batch, std::int64_t n)
      : device_(device),
        plugin_(kernel_path("eigh_py", kernel_name)),
        a_(device, batch * n * n),
        q_(device, batch * n * n),
        l_(device, batch * n),
        input_{a_.get(), {batch, n, n, 0}, 3, KBENCH_FLOAT32, KBENCH_ROW_MAJOR},
        outputs_{{q_.get(), {batch, n, n, 0}, 3, KBENCH_FLOAT32, KBENCH_ROW_MAJOR},
                 {l_.get(), {batch, n, 0, 0}, 2, KBENCH_FLOAT32, KBENCH_ROW_MAJOR}} {
    call_.inputs = &input_;
    call_.outputs = outputs_;
    call_.input_count = 1;
    call_.output_count = 2;
    call_.stream = device.stream();
    call_.error = error_;
    call_.error_size = sizeof error_;
    require(kernel().create(&call_, &state_));
    workspace_ =
        Buffer<unsigned char>(device, static_cast<std::int64_t>(kernel().workspace_bytes(state_)));
    call_.workspace = workspace_.get();
    call_.workspace_bytes = static_cast<std::uint64_t>(workspace_.count());
    require(kernel().prepare(state_, &call_, 1));
  }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;
  ~Solver() {
    if (state_ != nullptr) kernel().destroy(state_);
  }

  /// All memory but the input holds NaN before the call.
  Pairs solve(const std::vector<float>& a) {
    device_.upload(a_.get(), a.data(), a_.bytes());
    device_.fill(q_.get(), 0xff, q_.bytes());
    device_.fill(l_.get(), 0xff, l_.bytes());
    device_.fill(workspace_.get(), 0xff, workspace_.bytes());
    require(kernel().custom_kernel(state_, &call_));
    device_.synchronize();
    return {to_host(device_, q_.get(), q_.count()), to_host(device_, l_.get(), l_.count())};
  }

  std::string report() {
    char text[256] = "";
    REQUIRE(kernel().report(state_, text, sizeof text) == 0);
    return text;
  }

 private:
  const kbench_kernel& kernel() const { return plugin_.kernel(); }
  void require(int code) {
    INFO(error_);
    REQUIRE(code == 0);
  }

  Device& device_;
  KernelPlugin plugin_;
  Buffer<float> a_, q_, l_;
  Buffer<unsigned char> workspace_;
  kbench_tensor input_;
  kbench_tensor outputs_[2];
  kbench_call call_{};
  char error_[256] = "";
  void* state_ = nullptr;
};

std::vector<float> matrices(Device& device, std::string_view kind, std::int64_t batch,
                            std::int64_t n) {
  Case spec;
  spec.batch = batch;
  spec.n = n;
  spec.cond = 1;
  spec.kind = kind;
  const Buffer<float> a(device, batch * n * n);
  eigh_py().generate(device, spec, 4711 + n, a.get());
  return to_host(device, a.get(), a.count());
}

/// Item k of the result is item order(k) of `items`, each of `size` numbers.
template <class Order>
std::vector<float> reordered(const std::vector<float>& items, std::int64_t size,
                             const Order& order) {
  const auto count = static_cast<std::int64_t>(items.size()) / size;
  std::vector<float> result;
  for (std::int64_t k = 0; k < count; ++k) {
    const auto from = items.begin() + order(k) * size;
    result.insert(result.end(), from, from + size);
  }
  return result;
}

struct Shape {
  std::int64_t batch, n;
};
/// Two of them more matrices than the device has multiprocessors.
constexpr Shape k_shapes[] = {{1, 1},   {300, 32}, {300, 33}, {40, 176}, {12, 352},
                              {3, 513}, {16, 512}, {6, 1024}, {3, 2048}};

}  // namespace

TEST_CASE("a setting that is none is refused before any device is asked") {
  const struct {
    const char *kernel, *variable, *value, *error;
  } rows[] = {{"tridiagonal", "KBENCH_TRIDIAGONAL_RANKS", "3",
               "KBENCH_TRIDIAGONAL_RANKS is none of 1, 2, 4, 8, 16; unset it"},
              {"precise", "KBENCH_TRIDIAGONAL_RANKS", "16 ",
               "KBENCH_TRIDIAGONAL_RANKS is none of 1, 2, 4, 8, 16; unset it"}};
  for (const auto& row : rows) {
    INFO(row.kernel << ", " << row.variable << "=" << row.value);
    const KernelPlugin plugin(kernel_path("eigh_py", row.kernel));
    CHECK(plugin.kernel().name == std::string(row.kernel));
    kbench_tensor input{nullptr, {1, 8, 8, 0}, 3, KBENCH_FLOAT32, KBENCH_ROW_MAJOR};
    kbench_call shapes{};
    char error[256] = "";
    shapes.inputs = &input;
    shapes.input_count = 1;
    shapes.error = error;
    shapes.error_size = sizeof error;
    void* state = nullptr;
    setenv(row.variable, row.value, 1);
    CHECK(plugin.kernel().create(&shapes, &state) == 1);
    unsetenv(row.variable);
    CHECK(error == std::string(row.error));
  }
}

TEST_CASE("the same matrices have the same eigenpairs, bit for bit, in every call", "[gpu]") {
  const auto device = open_gpu();
  for (const char* kernel : k_kernels) {
    for (const Shape& shape : k_shapes) {
      CAPTURE(kernel, shape.batch, shape.n);
      const std::vector<float> a = matrices(*device, "mixed", shape.batch, shape.n);
      Solver solver(*device, kernel, shape.batch, shape.n);
      const Pairs first = solver.solve(a), second = solver.solve(a);
      CHECK(differing(first.q, second.q) == 0);
      CHECK(differing(first.l, second.l) == 0);
      Solver other(*device, kernel, shape.batch, shape.n);
      CHECK(differing(other.solve(a).q, first.q) == 0);
      CHECK_THAT(solver.report(), ContainsSubstring("flagged=0; redone_by=precise"));
    }
  }
}

TEST_CASE("a matrix's eigenpairs do not depend on its place in the batch", "[gpu]") {
  const auto device = open_gpu();
  for (const char* kernel : k_kernels) {
    for (const Shape& shape : k_shapes) {
      CAPTURE(kernel, shape.batch, shape.n);
      const std::int64_t n = shape.n, batch = shape.batch;
      const std::vector<float> a = matrices(*device, "mixed", batch, n);
      // Backwards, and begun in the middle.
      const auto order = [&](std::int64_t k) { return (batch - 1 - k + batch / 2) % batch; };
      Solver solver(*device, kernel, batch, n);
      const Pairs straight = solver.solve(a);
      const Pairs moved = solver.solve(reordered(a, n * n, order));
      CHECK(differing(moved.q, reordered(straight.q, n * n, order)) == 0);
      CHECK(differing(moved.l, reordered(straight.l, n, order)) == 0);
    }
  }
}

TEST_CASE("a pair of eigenvalues that FP64 hardly tells apart is straightened", "[gpu]") {
  const auto device = open_gpu();
  constexpr std::size_t n = k_nearly_degenerate_size;
  constexpr double n_eps = n * double{std::numeric_limits<float>::epsilon()};
  for (const char* kernel : k_kernels) {
    CAPTURE(kernel);
    Solver solver(*device, kernel, 1, n);
    const Pairs pairs = solver.solve(nearly_degenerate());
    double worst = 0;
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t l = 0; l < n; ++l) {
        double product = k == l ? -1 : 0;
        for (std::size_t i = 0; i < n; ++i)
          product += double{pairs.q[i * n + k]} * pairs.q[i * n + l];
        worst = std::max(worst, std::fabs(product));
      }
    }
    CHECK(worst <= 4 * n_eps);
    CHECK_THAT(solver.report(), ContainsSubstring("flagged=0; redone_by=precise"));
  }
}

TEST_CASE("eigenvalues of every case are within 10 n eps of LAPACK's in FP64", "[gpu]") {
  const auto device = open_gpu();
  double worst = 0;
  for (const std::int64_t n : {32, 176, 512, 1024}) {
    Solver precise(*device, "precise", 1, n), fast(*device, "tridiagonal", 1, n);
    for (const std::string_view kind : eigh_py().info().cases) {
      CAPTURE(kind, n);
      const std::vector<float> a = matrices(*device, kind, 1, n);
      const Pairs pairs = precise.solve(a);
      const double error = error_of(pairs.l, by_lapack(a, n));
      worst = std::max(worst, error);
      CHECK(error <= 10);
      CHECK(differing(fast.solve(a).l, pairs.l) == 0);
    }
  }
  WARN("the worst of all eigenvalues is " << worst << " n eps of the largest away");
}
