// A problem small enough to judge by eye: outputs `H` = the input and `tau` = zeros. And a kernel
// for it as a table of functions, which writes into the device's diary.
#pragma once

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "fake_device.h"
#include "kbench_kernel.h"
#include "problems/problem.h"

namespace kbench::test {

class FakeChecker : public Checker {
 public:
  FakeChecker(Diary& diary, const std::function<void()>& at_check, std::int64_t batch,
              std::int64_t n)
      : diary_(diary), at_check_(at_check), batch_(batch), n_(n) {}
  Verdict check(const float* a, std::span<const float* const> outputs, Layout,
                bool diagnostics) override {
    diary_.push_back(diagnostics ? "check" : "recheck");
    at_check_();
    Verdict verdict;
    verdict.passed = std::equal(a, a + batch_ * n_ * n_, outputs[0]) && outputs[1][0] == 0;
    verdict.message = "copied";
    verdict.error = "H is no copy of A";
    verdict.figures = {{"distance", diagnostics ? 1.0 : 2.0}};
    if (diagnostics) verdict.figures.push_back({"extra", 5.0});
    verdict.worst_of_gate = diagnostics ? 0.1 : 0.2;
    verdict.worst_gate = diagnostics ? "first" : "second";
    return verdict;
  }

 private:
  Diary& diary_;
  const std::function<void()>& at_check_;
  std::int64_t batch_, n_;
};

class FakeProblem : public Problem {
 public:
  explicit FakeProblem(Diary& diary) : diary_(diary) {
    info_.name = "copy";
    info_.nominal_flops = [](std::int64_t batch, std::int64_t n) {
      return static_cast<double>(batch * n * n * n);
    };
    info_.nominal_bytes = [](std::int64_t batch, std::int64_t n) {
      return static_cast<double>(8 * batch * n * n);
    };
  }

  std::function<void()> at_check = [] {};
  Renewal renews = Renewal::drawn;
  bool unstructured = false;
  mutable std::vector<std::int64_t> drawn_seeds;  ///< of every `generate`, in order

  const ProblemInfo& info() const override { return info_; }
  std::span<const OutputShape> outputs() const override { return shapes_; }
  void generate(Device&, const Case& spec, std::int64_t seed, float* a) const override {
    diary_.push_back("generate");
    drawn_seeds.push_back(seed);
    std::fill_n(a, spec.batch * spec.n * spec.n, static_cast<float>(seed));
  }
  Renewal renewal(const Case&) const override { return renews; }
  Arrangement arrange(Device&, const Case&, std::int64_t, std::uint64_t) const override {
    throw std::logic_error("the fake problem arranges nothing");
  }
  bool needs_nominal_flops(const Case&) const override { return unstructured; }
  void validate_input(Device&, const Case&, const float*) const override {}
  std::unique_ptr<Checker> make_checker(Device&, std::int64_t batch,
                                        std::int64_t n) const override {
    return std::make_unique<FakeChecker>(diary_, at_check, batch, n);
  }
  std::int64_t scratch_bytes(const Case&) const override { return 1000; }

 private:
  Diary& diary_;
  ProblemInfo info_;
  OutputShape shapes_[2] = {{"H", 3}, {"tau", 2}};
};

/// What the fake kernel does in a call beside the right thing; its state.
struct FakeKernel {
  Diary* diary = nullptr;
  std::function<int(const kbench_call*)> after = [](const kbench_call*) { return 0; };
  std::int64_t calls = 0;
  std::int64_t destroyed = 0;
};

/// Where `create` finds its FakeKernel: a table of C functions carries no state before it.
inline thread_local FakeKernel* current_kernel = nullptr;

inline int fake_create(const kbench_call* shapes, void** state) {
  *state = current_kernel;
  current_kernel->diary->push_back(shapes->inputs[0].data == nullptr ? "create" : "create+data");
  return 0;
}
inline std::uint64_t fake_workspace(void*) { return 10; }
inline int fake_prepare(void* state, const kbench_call*, std::int32_t count) {
  static_cast<FakeKernel*>(state)->diary->push_back("prepare " + std::to_string(count));
  return 0;
}
inline int fake_custom_kernel(void* state, const kbench_call* call) {
  FakeKernel& own = *static_cast<FakeKernel*>(state);
  own.diary->push_back("custom_kernel");
  ++own.calls;
  const std::int64_t count = call->inputs[0].size[0] * call->inputs[0].size[1];
  const auto* a = static_cast<const float*>(call->inputs[0].data);
  std::copy(a, a + count * call->inputs[0].size[1], static_cast<float*>(call->outputs[0].data));
  std::fill_n(static_cast<float*>(call->outputs[1].data), count, 0.0f);
  return own.after(call);
}
inline int fake_report(void*, char* text, std::uint32_t size) {
  std::snprintf(text, size, "fallbacks=0");
  return 0;
}
inline void fake_destroy(void* state) {
  FakeKernel& own = *static_cast<FakeKernel*>(state);
  own.diary->push_back("destroy");
  ++own.destroyed;
}

constexpr kbench_kernel k_fake_kernel = {
    KBENCH_ABI_VERSION, "fake",      "copy",      nullptr,        KBENCH_CUDA,
    KBENCH_ROW_MAJOR,   0,           fake_create, fake_workspace, fake_prepare,
    fake_custom_kernel, fake_report, fake_destroy};

}  // namespace kbench::test
