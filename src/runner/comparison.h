// The collected results of a comparison as plain data, and the texts that are functions of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/comparison.h"
#include "core/message.h"
#include "runner/machine.h"
#include "runner/terminal.h"

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

/// Widths of one comparison's table, the same for all of its rows.
struct ComparisonLayout {
  TextStyle style;
  std::size_t problem_width = 0;  ///< 0: all cases are of one problem
  std::size_t spec_width = 4;
  bool beside = true;  ///< figures stand beside the case's line, else in lines below it
};
ComparisonLayout comparison_layout(const std::vector<Case>& cases, const TextStyle& style);
std::string comparison_heading(const ComparisonRecord& record, const ComparisonLayout& layout);
/// The lines of case i.
std::string comparison_row(const ComparisonRecord& record, std::size_t i,
                           const ComparisonLayout& layout);
std::string comparison_footer(const ComparisonRecord& record, const ComparisonLayout& layout);

/// What a case is at after a round: `pair 37 | B/A 0.512 | up to 12 s left`.
std::string rounds_text(const RoundRule& rule, std::size_t challengers, double wall_s);

/// The document `kbench.comparison/1` (docs/comparing.md).
std::string comparison_document(const ComparisonRecord& record);

/// `faster (4.13x)`, `slower (1.2x)`, `same`, `undecided`.
std::string verdict_text(const ComparedRatio& compared);
/// `0.242 [0.240, 0.245]`, with the digits that the interval supports.
std::string ratio_text(const Ratio& ratio);  ///< without an interval: `0.242 (too few)`

}  // namespace kbench
