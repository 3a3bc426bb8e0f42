// The collected results of a run as plain data: what every reporter is a function of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/comparison.h"
#include "core/distribution.h"
#include "core/message.h"
#include "core/mode.h"
#include "core/stats.h"
#include "runner/machine.h"
#include "runner/options.h"
#include "runner/together_figures.h"

namespace kbench {

/// One case of the run, in the order of running.
struct CaseRecord {
  Case spec;
  std::int64_t case_index = 0;  ///< number in the unfiltered list (what --only selects by)
  bool ended = false;
  bool begun = false;  ///< a worker was given its job
  bool passed = false;
  double wall_s = 0;                   ///< from the start of the case to its end
  std::string error;                   ///< why not, when ended and not passed; may hold any text
  KernelInfo kernel;                   ///< at least the name, once it is known
  std::string kernel_sha256;           ///< of the plug-in's file; empty when not known
  Reply reply;                         ///< as the worker sent it; default when it sent none
  std::string fresh_inputs;            ///< `on`, `off`, `fixed`; empty when nothing was measured
  std::optional<std::uint64_t> nonce;  ///< of a case whose measurement was begun
  bool repeatable = true;              ///< false: the failure came from outside (an interruption)
  std::optional<Summary> summary;      ///< of a passed, measured case
  std::optional<Distribution> distribution;  ///< with `summary`
  std::optional<TogetherFigures> together;   ///< of a passed case of --together
  double flops = 0, bytes = 0;               ///< nominal counts of one call; 0: not known
  std::optional<std::size_t> place;          ///< where it ran, in RunRecord::places
  std::optional<Ratio> over_baseline;  ///< of a measured case that the baseline has measured too
  std::string resumed_from;  ///< start of the run that measured it where --resume took it over
  std::string dealt_again;   ///< why it had to go to a second place, or empty
};

/// A device that cases of the run are given to, and the process that uses it.
struct PlaceRecord {
  std::string name;  ///< `cuda:1`, `host`, `rank 2 cuda:0`; unique where that is possible
  int rank = -1;     ///< -1 without ranks
  std::string host;  ///< name of its machine
  DeviceRequest asked;
  std::optional<DeviceInfo> device;
  std::string lost;  ///< why it got no more cases, or empty
};

struct RunRecord {
  const Mode* mode = nullptr;
  std::vector<CaseRecord> cases;
  std::optional<DeviceInfo> device;  ///< of the first place
  std::vector<PlaceRecord> places;
  MachineInfo machine;
  std::string started;  ///< ISO 8601, UTC
  std::vector<std::string> command_line;
  std::vector<std::pair<std::string, std::string>> tags;  ///< --tag
  std::string kernel_source;            ///< absolute path of the file that was compiled, or empty
  std::vector<std::string> nvcc_flags;  ///< its additional flags
  std::string profiler;                 ///< `ncu`, `nsys`, ... or empty
  std::string why_not_queued;           ///< why no launch may be held back, or empty
  std::string baseline;                 ///< --baseline: path of the results, or empty
  std::string not_comparable;           ///< why the figures are no ranking, or empty
  std::int64_t exact_repeats = 0;
  bool warm_up = true;
  bool range = true;
  bool finished = false;
  ExitCode exit_code = ExitCode::ok;

  bool several_problems() const;
  bool all_passed() const;
};

/// `pass`, `fail`, or `not run` while the run has not come to the case.
std::string_view status_of(const CaseRecord& row);

/// Why a case failed, and how to repeat that where it depends on the run's nonce. The reason is cut
/// so that the whole has at most `bytes` bytes once it is one line.
std::string failure_text(const CaseRecord& row, std::size_t bytes = std::string::npos);

/// `cuda:1`, `host:1` (the second worker there), `rank 2 cuda:0`: the device that is there, or the
/// one that was asked for.
std::string place_name(const PlaceRecord& place);

/// Geometric mean of the means of a problem's cases in ns; empty unless all of them passed and were
/// measured.
std::optional<double> problem_geometric_mean(const RunRecord& record, const std::string& problem);

/// Geometric mean of the ratios of a problem's cases to the baseline; empty unless every one of
/// them has one.
std::optional<Ratio> problem_ratio(const RunRecord& record, const std::string& problem);

/// How many cases a former run had measured.
std::size_t resumed_cases(const RunRecord& record);

/// Names of the problems in order of their first case.
std::vector<std::string> problem_names(const RunRecord& record);

}  // namespace kbench
