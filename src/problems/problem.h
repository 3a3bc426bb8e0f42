// A problem: how its inputs are generated from a seed and how outputs are judged. Written once
// against Ops, for every device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/message.h"
#include "core/spec.h"
#include "device/device.h"
#include "device/ops.h"
#include "problems/arrangement.h"

namespace kbench {

/// Shape of one output: [batch, n, n] or [batch, n].
struct OutputShape {
  std::string_view name;  ///< `H`
  int rank = 0;           ///< 3: matrices in the kernel's layout; 2: one vector a matrix
};

/// The judgement of one set of outputs.
struct Verdict {
  bool passed = false;
  std::string message;          ///< pass message, one line, when passed
  std::string error;            ///< gate, worst matrix, residual, allowed, scaled, when not
  std::vector<Figure> figures;  ///< scaled residuals; diagnostics only when asked for
  double worst_of_gate = 0;     ///< largest residual / allowed over all gates and matrices
  std::string worst_gate;
};

/// Reuses its device memory from check to check; one per case. Not thread-safe.
class Checker {
 public:
  virtual ~Checker() = default;
  /// Judges outputs (in OutputShape order, matrices in `layout`) against the untouched input a.
  /// `diagnostics`: also the figures that are reported and not gated.
  virtual Verdict check(const float* a, std::span<const float* const> outputs, Layout layout,
                        bool diagnostics) = 0;
};

/// How a case gets other inputs of its kind.
enum class Renewal {
  drawn,  ///< by `generate` with another seed
  moved,  ///< by an exact change of the given ones (`arrange`): too dear to generate, or the user's
  fixed   ///< not at all: the case is one matrix
};

class Problem {
 public:
  virtual ~Problem() = default;
  virtual const ProblemInfo& info() const = 0;
  virtual std::span<const OutputShape> outputs() const = 0;
  /// Fills a [batch, n, n], row-major, with the matrices of `spec` for `seed`.
  virtual void generate(Device& device, const Case& spec, std::int64_t seed, float* a) const = 0;
  virtual Renewal renewal(const Case& spec) const = 0;
  /// For Renewal::moved: the change that `fresh` names for the matrices of `spec` and `seed`.
  virtual Arrangement arrange(Device& device, const Case& spec, std::int64_t seed,
                              std::uint64_t fresh) const = 0;
  /// The case has no structure that would allow fewer than the nominal operations.
  virtual bool needs_nominal_flops(const Case& spec) const = 0;
  /// Refuses a user's own matrices that the problem is not defined for (eigh_py: not symmetric).
  /// Throws Error(case_failed).
  virtual void validate_input(Device& device, const Case& spec, const float* a) const = 0;
  virtual std::unique_ptr<Checker> make_checker(Device& device, std::int64_t batch,
                                                std::int64_t n) const = 0;
  /// Device bytes that generate and make_checker need beside inputs and outputs (the larger of
  /// both).
  virtual std::int64_t scratch_bytes(const Case& spec) const = 0;
};

/// The visible table of problems.
std::span<const Problem* const> problems();
const Problem* find_problem(std::string_view name);

}  // namespace kbench
