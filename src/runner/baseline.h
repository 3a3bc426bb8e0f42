// `--baseline`: the ratio of each case to a former run.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runner/record.h"
#include "runner/results_file.h"

namespace kbench {

/// A former run beside the present one. Holds which of its cases belongs to which.
class Baseline {
 public:
  /// `present` has its device; `fresh`: its timed repeats have inputs of their own. `file` outlives
  /// the object.
  Baseline(const ResultsFile& file, const RunRecord& present, bool fresh);

  /// What makes the ratios no comparison of kernels, as `kbench compare` of two files says it.
  /// Cases that only one of the runs has are none: they have no ratio.
  const std::vector<std::string>& differences() const { return differences_; }

  /// Throws Error(usage) when the runs have no case in common, or with all differences; with
  /// `force` the differences are said on stderr instead.
  void require_comparable(bool force) const;

  /// Median of case i over that of the former run, with an interval that holds together with those
  /// of all other cases; empty unless both runs measured the case.
  std::optional<Ratio> ratio(std::size_t i, const CaseRecord& row) const;

 private:
  const ResultsFile& file_;
  std::vector<std::optional<std::size_t>> former_;  // case of the file, by case of the run
  std::size_t in_common_ = 0;
  std::vector<std::string> differences_;
  double level_ = 0;
};

}  // namespace kbench
