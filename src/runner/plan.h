// From files to validated cases: which problem, which rows, which seeds. All of it before anything
// runs; the only thing a plan may still lack is the problem of a plug-in named by its path.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/spec.h"
#include "runner/options.h"

namespace kbench {

struct PlannedCase {
  Case spec;                        ///< seed already combined with the secret seed
  std::int64_t case_index = 0;      ///< number before --only
  std::vector<std::int64_t> seeds;  ///< of the inputs, in order
  double flops = 0, bytes = 0;      ///< nominal counts of one call; 0: the problem states none
};

struct Plan {
  std::vector<PlannedCase> cases;  ///< grouped by problem
  /// The task files' own limit for this mode, all files together; absent for shape files.
  std::optional<double> time_limit_s;
};

using Problems = std::span<const ProblemInfo* const>;

/// Row of `problems` by name. Throws Error(usage) with did-you-mean.
const ProblemInfo& find_problem_info(Problems problems, const std::string& name);

/// True when `kernel` is a path and not the name of a shipped plug-in.
bool is_kernel_path(const std::string& kernel);

/// Throws Error(usage) when --kernel names no shipped plug-in (did-you-mean and the list), or a
/// file that is not there.
void check_kernel(const Options& options, Problems problems);

/// Reads and validates everything. `plugin_problem` is asked only where the plug-in at --kernel
/// PATH decides the problem; when its answer is empty the case names decide. A FILE that is a pipe
/// is waited for until `cancelled`. Throws Error(usage) or Error(case_file).
Plan make_plan(const Options& options, Problems problems,
               const std::function<std::string()>& plugin_problem,
               const std::function<bool()>& cancelled = {});

}  // namespace kbench
