// A problem without inputs, outputs and gates, for timing and tracing whatever a plug-in does with
// the integers of its case line. Must not know what that is.
#include "problems/free.h"

namespace kbench {
namespace {

class NothingChecked : public Checker {
 public:
  Verdict check(const float*, std::span<const float* const>, Layout, bool) override {
    Verdict verdict;
    verdict.passed = true;
    verdict.message = "not checked";
    return verdict;
  }
};

class Free : public Problem {
 public:
  Free() {
    info_.name = "free";
    info_.summary = "any kernel, on the integers of its case line; nothing is checked";
    info_.nominal_flops = info_.nominal_bytes = [](std::int64_t, std::int64_t) { return 0.0; };
    info_.free_form = true;
  }
  const ProblemInfo& info() const override { return info_; }
  std::span<const OutputShape> outputs() const override { return {}; }
  void generate(Device&, const Case&, std::int64_t, float*) const override {}
  Renewal renewal(const Case&) const override { return Renewal::fixed; }
  Arrangement arrange(Device&, const Case&, std::int64_t, std::uint64_t) const override {
    throw Error(ExitCode::case_failed, "problem `free` has no inputs to arrange");
  }
  bool needs_nominal_flops(const Case&) const override { return false; }
  void validate_input(Device&, const Case&, const float*) const override {
    throw Error(
        ExitCode::case_failed,
        "problem `free` takes no matrices (its plug-in makes its own data); leave `--input` "
        "out");
  }
  std::unique_ptr<Checker> make_checker(Device&, std::int64_t, std::int64_t) const override {
    return std::make_unique<NothingChecked>();
  }
  std::int64_t scratch_bytes(const Case&) const override { return 0; }

 private:
  ProblemInfo info_;
};

}  // namespace

const Problem& free_problem() {
  static const Free problem;
  return problem;
}

}  // namespace kbench
