// The collected results of a comparison as plain data, and the texts that are functions of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/comparison.h"
#include "core/message.h"
#include "runner/machine.h"

namespace kbench {

/// One of the kernels; its place in the list is its letter, `A` the one compared with.
struct ComparedKernel {
  std::string asked;   ///< as the user named it
  std::string source;  ///< file that it was compiled from, or empty
  KernelInfo info;     ///< at least a name
};

/// What one kernel did in one case.
struct ComparedTimes {
  std::string error;  ///< why it has no times; empty when it has
  std::vector<double>
      samples_ns;  ///< one a round, in the order of rounds, the same for all kernels
  double median_ns = 0;
  double worst_of_gate = 0;
  std::string worst_gate;
};

/// A kernel's time over that of A.
struct ComparedRatio {
  Ratio ratio;
  RatioVerdict verdict = RatioVerdict::undecided;
};

struct ComparedCase {
  Case spec;
  std::int64_t case_index = 0;
  std::vector<ComparedTimes> times;   ///< one a kernel
  std::vector<ComparedRatio> ratios;  ///< of kernels B, C, ...; empty when a kernel failed
  StopReason stop = StopReason::none;
  std::string fresh_inputs;  ///< `on`, `off`, `fixed`
};

/// Over the cases of one problem; empty ratios unless all of its cases have theirs.
struct ComparedMean {
  std::string problem;
  std::vector<ComparedRatio> ratios;
};

struct ComparisonRecord {
  std::vector<ComparedKernel> kernels;
  std::vector<ComparedCase> cases;  ///< those that have ended
  std::vector<ComparedMean> means;  ///< filled in at the end, for problems of several cases
  std::optional<DeviceInfo> device;
  MachineInfo machine;
  std::string started;
  std::vector<std::string> command_line;
  std::uint64_t nonce = 0;
  double same = 0;
  double level = 0;  ///< of each interval
  std::optional<double> fail_if_slower;
  bool paired = true;  ///< false: times of two runs, taken apart
  bool finished = false;
  ExitCode exit_code = ExitCode::ok;
};

/// `A`, `B`, ... `Z`, then `K26`.
std::string kernel_letter(std::size_t kernel);

/// Fills in `means` from the cases.
void add_means(ComparisonRecord& record);

/// 112 when a kernel failed, or one is for certain slower than --fail-if-slower allows.
ExitCode comparison_exit_code(const ComparisonRecord& record);

/// The case line, made fit for a table.
std::string comparison_spec(const Case& spec);
std::string comparison_heading(const ComparisonRecord& record);
/// The lines of case i; `spec_width` is that of the widest line of the run.
std::string comparison_row(const ComparisonRecord& record, std::size_t i, std::size_t spec_width);
std::string comparison_footer(const ComparisonRecord& record);

/// The document `kbench.comparison/1` (docs/comparing.md).
std::string comparison_document(const ComparisonRecord& record);

/// `faster (4.13x)`, `slower (1.2x)`, `same`, `undecided`.
std::string verdict_text(const ComparedRatio& compared);
/// `0.242 [0.240, 0.245]`, with the digits that the interval supports.
std::string ratio_text(const Ratio& ratio);  ///< without an interval: `0.242 (too few)`

}  // namespace kbench
