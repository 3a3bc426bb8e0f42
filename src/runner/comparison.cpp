// What follows from the cases of a comparison: geometric means and the exit code. No output, no
// process and no clock here.
#include "runner/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace kbench {
namespace {

std::vector<const ComparedCase*> cases_of(const ComparisonRecord& record,
                                          const std::string& problem) {
  std::vector<const ComparedCase*> cases;
  for (const ComparedCase& row : record.cases) {
    if (row.spec.problem == problem) cases.push_back(&row);
  }
  return cases;
}

/// Round by round, the mean over the cases of the logarithms of kernel `k` over A.
std::vector<double> mean_logs(const std::vector<const ComparedCase*>& cases, std::size_t k) {
  std::size_t rounds = cases.front()->times[k].samples_ns.size();
  for (const auto* row : cases) rounds = std::min(rounds, row->times[k].samples_ns.size());
  std::vector<double> logs(rounds, 0.0);
  for (const ComparedCase* row : cases) {
    for (std::size_t i = 0; i < rounds; ++i) {
      const double ratio = row->times[k].samples_ns[i] / row->times[0].samples_ns[i];
      logs[i] += std::log(ratio) / static_cast<double>(cases.size());
    }
  }
  return logs;
}

template <class Predicate>
bool any_ratio(const ComparisonRecord& record, Predicate predicate) {
  const auto in = [&](const auto& rows) {
    return std::any_of(rows.begin(), rows.end(), [&](const auto& row) {
      return std::any_of(row.ratios.begin(), row.ratios.end(), predicate);
    });
  };
  return in(record.cases) || in(record.means);
}

}  // namespace

std::string kernel_letter(std::size_t kernel) {
  if (kernel < 26) return std::string(1, static_cast<char>('A' + kernel));
  return fmt::format("K{}", kernel);
}

void add_means(ComparisonRecord& record) {
  record.means.clear();
  for (const ComparedCase& first : record.cases) {
    const std::string& problem = first.spec.problem;
    const bool known = std::any_of(record.means.begin(), record.means.end(),
                                   [&](const ComparedMean& m) { return m.problem == problem; });
    const std::vector<const ComparedCase*> cases = cases_of(record, problem);
    // Of one case the mean is the case.
    if (known || cases.size() < 2) continue;
    ComparedMean mean{problem, {}};
    const bool complete = std::all_of(cases.begin(), cases.end(),
                                      [](const ComparedCase* row) { return !row->ratios.empty(); });
    for (std::size_t k = 1; complete && k < record.kernels.size(); ++k) {
      const Ratio ratio = ratio_of_pairs(mean_logs(cases, k), record.level);
      mean.ratios.push_back({ratio, judge_ratio(ratio, record.same)});
    }
    record.means.push_back(std::move(mean));
  }
}

ExitCode comparison_exit_code(const ComparisonRecord& record) {
  const bool failed = std::any_of(record.cases.begin(), record.cases.end(),
                                  [](const ComparedCase& row) { return row.ratios.empty(); });
  const bool slower = record.fail_if_slower && any_ratio(record, [&](const ComparedRatio& r) {
                        return is_slower_by(r.ratio, *record.fail_if_slower);
                      });
  return failed || slower ? ExitCode::case_failed : ExitCode::ok;
}

}  // namespace kbench
