// Puts a former run beside the present one: may they be compared, and what is the ratio of a case.
// Reads no file and knows no output.
#include "runner/baseline.h"

#include <fmt/core.h>

#include "core/text.h"
#include "runner/compare_files.h"
#include "runner/resume.h"

namespace kbench {

Baseline::Baseline(const ResultsFile& file, const RunRecord& present, bool fresh)
    : file_(file), former_(present.cases.size()) {
  const ResultsFile now = as_results(present);
  differences_ = run_differences(file, now);
  const auto pairs = matching_cases(file, now);
  in_common_ = pairs.size();
  level_ = level_of_each(static_cast<std::int64_t>(pairs.size()));
  bool inputs_differ = false;
  for (const auto& [i, k] : pairs) {
    former_[k] = i;
    const std::string& inputs = file.cases[i].fresh_inputs;
    inputs_differ =
        inputs_differ || (!inputs.empty() && inputs != "fixed" && (inputs == "on") != fresh);
  }
  if (inputs_differ) {
    differences_.push_back(
        fmt::format("fresh inputs (`{}` and `{}`)", fresh ? "off" : "on", fresh ? "on" : "off"));
  }
}

void Baseline::require_comparable(bool force) const {
  const std::string path = to_one_line(file_.path);
  if (in_common_ == 0) {
    throw Error(ExitCode::usage,
                fmt::format("`{}` and this run have no case in common; name a run of the same "
                            "cases with `--baseline`",
                            path));
  }
  require_same(differences_, fmt::format("`{}` is no baseline of this run", path), force);
}

std::optional<Ratio> Baseline::ratio(std::size_t i, const CaseRecord& row) const {
  if (!former_[i] || !row.summary) return std::nullopt;
  const ResultCase& former = file_.cases[*former_[i]];
  // What a document says of its samples was not checked when it was read.
  if (former.status != "pass" || !former.mean_ns || !are_times(former.samples_ns)) {
    return std::nullopt;
  }
  return ratio_of_runs(former.samples_ns, row.reply.samples_ns, level_);
}

}  // namespace kbench
