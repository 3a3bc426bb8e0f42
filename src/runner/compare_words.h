// What the arguments of `kbench compare` mean.
#pragma once

#include "runner/options.h"
#include "runner/plan.h"

namespace kbench {

/// The options of a comparison: `words` holds the kernels alone, `file` the case file that stood
/// behind them, and `mode` is that of benchmark. Throws Error(usage).
Options compare_options(const Options& asked);

/// Index of the kernel that narrows the problems most: one named by its path, which is for one
/// problem only, else the one that the fewest problems have.
std::size_t telling_kernel(const Options& options, Problems problems);

/// Throws Error(usage) when a kernel named by its name is missing for a problem of the plan.
void require_kernels_of_plan(const Options& options, const Plan& plan);

}  // namespace kbench
