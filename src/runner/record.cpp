// Questions that several reporters ask of the same record. No output and no process here.
#include "runner/record.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"
#include "runner/nonce.h"

namespace kbench {

std::vector<std::string> problem_names(const RunRecord& record) {
  std::vector<std::string> names;
  for (const CaseRecord& row : record.cases) {
    if (std::find(names.begin(), names.end(), row.spec.problem) == names.end()) {
      names.push_back(row.spec.problem);
    }
  }
  return names;
}

bool RunRecord::several_problems() const { return problem_names(*this).size() > 1; }

bool RunRecord::all_passed() const {
  return std::all_of(cases.begin(), cases.end(),
                     [](const CaseRecord& row) { return row.ended && row.passed; });
}

std::string_view status_of(const CaseRecord& row) {
  if (!row.ended) return "not run";
  return row.passed ? "pass" : "fail";
}

std::string failure_text(const CaseRecord& row, std::size_t bytes) {
  const std::string reason = row.error.empty() ? "failed" : row.error;
  if (row.fresh_inputs != "on" || !row.repeatable || !row.nonce) {
    return bytes == std::string::npos ? reason : shorten(to_one_line(reason), bytes);
  }
  const std::string advice = nonce_advice(*row.nonce);
  if (bytes == std::string::npos) return reason + advice;
  // In a narrow place the reason is worth more than the way to see it again.
  if (bytes < 2 * advice.size()) return shorten(to_one_line(reason), bytes);
  return shorten(to_one_line(reason), bytes - advice.size()) + advice;
}

std::string place_name(const PlaceRecord& place) {
  const std::string rank = place.rank < 0 ? "" : fmt::format("rank {} ", place.rank);
  const DeviceRequest& asked = place.asked;
  const bool known = place.device.has_value();
  if (!known && asked.kind == DeviceRequest::Kind::automatic) return rank + "device";
  const bool cuda =
      known ? place.device->kind == DeviceKind::cuda : asked.kind == DeviceRequest::Kind::cuda;
  if (cuda) return rank + device_label(DeviceKind::cuda, known ? place.device->index : asked.index);
  const bool numbered =
      place.rank < 0 && asked.kind == DeviceRequest::Kind::host && asked.index > 0;
  return numbered ? fmt::format("host:{}", asked.index) : rank + "host";
}

std::optional<double> problem_geometric_mean(const RunRecord& record, const std::string& problem) {
  std::vector<double> means;
  for (const CaseRecord& row : record.cases) {
    if (row.spec.problem != problem) continue;
    if (!row.summary) return std::nullopt;
    means.push_back(row.summary->mean);
  }
  if (means.empty()) return std::nullopt;
  return geometric_mean(means);
}

std::optional<Ratio> problem_ratio(const RunRecord& record, const std::string& problem) {
  std::vector<Ratio> ratios;
  for (const CaseRecord& row : record.cases) {
    if (row.spec.problem != problem) continue;
    if (!row.over_baseline) return std::nullopt;
    ratios.push_back(*row.over_baseline);
  }
  if (ratios.empty()) return std::nullopt;
  return mean_ratio(ratios);
}

std::size_t resumed_cases(const RunRecord& record) {
  return static_cast<std::size_t>(
      std::count_if(record.cases.begin(), record.cases.end(),
                    [](const CaseRecord& row) { return !row.resumed_from.empty(); }));
}

}  // namespace kbench
