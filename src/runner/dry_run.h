// `--dry-run`: what a run would do.
#pragma once

#include <functional>
#include <string>

#include "core/error.h"
#include "core/message.h"
#include "runner/options.h"
#include "runner/plan.h"
#include "runner/results_file.h"

namespace kbench {

/// Device bytes that kbench's arrays of a job take.
using JobMemory = double (*)(const Job& job);

/// Results that tell how long cases take: those that the run goes on from, and those that it is
/// compared with. Null where there are none.
struct FormerRuns {
  const ResultsFile* resume = nullptr;
  const ResultsFile* baseline = nullptr;
};

/// A heading a problem and a line a case: its line, memory and time; then what the figures mean and
/// what they come to. A case that `resume` holds as measured takes no time, one that the baseline
/// holds what it took there; of any other the time is not known.
std::string dry_run_text(const Options& options, const Plan& plan, JobMemory memory,
                         const FormerRuns& former);

/// Reads what is asked for and prints that text. Throws Error as a run does for what it cannot
/// begin with.
/// A FILE that is a pipe is waited for until `cancelled`.
ExitCode dry_run(const Options& options, Problems problems, JobMemory memory,
                 const std::function<bool()>& cancelled);

}  // namespace kbench
