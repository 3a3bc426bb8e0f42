// The run itself: every case of a plan through a session, every result to the reporters.
#pragma once

#include <memory>
#include <optional>

#include "runner/options.h"
#include "runner/plan.h"
#include "runner/report.h"
#include "runner/session.h"

namespace kbench {

/// What is known before the first case.
struct Start {
  const Options& options;
  const Plan& plan;
  std::optional<Hello> greeting;  ///< of the worker that the session holds already, if it does
  std::string greeting_kernel;    ///< kernel path of that worker's set-up
  std::string source;             ///< file that the kernel is compiled from; empty when it is not
  std::string kernel_error;  ///< why the source made no kernel: every case fails with it; or empty
  std::optional<DeviceInfo> device;  ///< that a compilation was for
};

/// Runs all cases of a mode and tells the reporters. Throws Error when there is no device or no
/// kernel before the first case, and when a reporter could not finish.
ExitCode run_cases(const Start& start, Session& session, Watch& watch,
                   const std::vector<std::unique_ptr<Reporter>>& reporters);

}  // namespace kbench
