// The run itself: every case of a plan through a lane, every result to the reporters.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runner/lane.h"
#include "runner/options.h"
#include "runner/plan.h"
#include "runner/report.h"
#include "runner/resume.h"

namespace kbench {

/// What is known before the first case.
struct Start {
  const Options& options;
  const Plan& plan;
  std::optional<Hello> greeting;  ///< of the worker that the first lane holds already, if it does
  std::string greeting_kernel;    ///< kernel path of that worker's set-up
  std::string source;             ///< file that the kernel is compiled from; empty when it is not
  std::string kernel_error;  ///< why the source made no kernel: every case fails with it; or empty
  std::optional<DeviceInfo> device;       ///< that a compilation was for
  const Resume* resume = nullptr;         ///< a former run to go on from
  const ResultsFile* baseline = nullptr;  ///< a former run to compare with
};

/// A lane of the run and what it stands for.
struct Place {
  Lane* lane = nullptr;
  DeviceRequest device;
  int rank = -1;     ///< -1 without ranks
  std::string host;  ///< name of its machine
};

/// Runs all cases of a mode, spread over `places`, and tells the reporters in the order of the
/// cases. Throws Error when a place has no device or no kernel before the first case, and when a
/// reporter could not finish.
ExitCode run_cases(const Start& start, std::span<const Place> places, Watch& watch,
                   const std::vector<std::unique_ptr<Reporter>>& reporters);

}  // namespace kbench
