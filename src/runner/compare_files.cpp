// Compares results that lie in files: whether they may be compared at all, which cases belong
// together, and the ratio of times that were not taken in pairs. Reads no file, and writes only
// what
// `--force` passes over.
#include "runner/compare_files.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/distribution.h"
#include "core/stats.h"
#include "core/text.h"
#include "runner/say.h"

namespace kbench {
namespace {

std::string key_of(const Case& spec) {
  return fmt::format("{}: batch {}, n {}, cond {}, seed {}, {}{}", spec.problem, spec.batch, spec.n,
                     spec.cond, spec.seed, spec.kind,
                     spec.input_path.empty() ? "" : ", input " + spec.input_path);
}

struct Differences {
  std::vector<std::string> found;

  void add(const std::string& what, const std::string& before, const std::string& after) {
    if (before == after) return;
    found.push_back(fmt::format("{} (`{}` and `{}`)", what, shorten(to_one_line(before), 80),
                                shorten(to_one_line(after), 80)));
  }
};

std::string device_text(const ResultsFile& file) {
  if (!file.device) return "none";
  const DeviceInfo& device = *file.device;
  return fmt::format("{} {}{}{}", to_string(device.kind), device.name,
                     device.uuid.empty() ? "" : " ", device.uuid);
}

/// Size, and kind where it is not the public evaluator's: results name it as a reason.
std::string flush_text(const ResultsFile& file) {
  std::string text = fmt::format("{} bytes", file.device->flush_bytes);
  const std::string reason = file.cases.empty() ? "" : file.cases.front().not_comparable;
  const std::size_t at = reason.find("--flush ");
  if (at != std::string::npos) text += ", " + reason.substr(at, reason.find(';', at) - at);
  return text;
}

void compare_devices(const ResultsFile& before, const ResultsFile& after, Differences& into) {
  into.add("device", device_text(before), device_text(after));
  if (!before.device || !after.device) return;
  const DeviceInfo &a = *before.device, &b = *after.device;
  into.add("driver", a.driver, b.driver);
  into.add("clock", a.clock, b.clock);
  into.add("flush", flush_text(before), flush_text(after));
  if (a.kind == DeviceKind::host && b.kind == DeviceKind::host) {
    into.add("cores", fmt::format("{}", before.machine.cores),
             fmt::format("{}", after.machine.cores));
  }
}

std::map<std::string, std::vector<std::size_t>> places(const ResultsFile& file) {
  std::map<std::string, std::vector<std::size_t>> by_key;
  for (std::size_t i = 0; i < file.cases.size(); ++i) {
    by_key[key_of(file.cases[i].spec)].push_back(i);
  }
  return by_key;
}

/// The first case that one file has and the other has not, or not as often.
std::string lone_case(const ResultsFile& file, const ResultsFile& other) {
  const auto theirs = places(other);
  for (const auto& [key, indices] : places(file)) {
    const auto found = theirs.find(key);
    if (found == theirs.end() || found->second.size() < indices.size()) return key;
  }
  return "";
}

std::string input_text(const ResultCase& row) {
  return fmt::format("{} a repeat, fresh: {}", row.calls_per_repeat,
                     row.fresh_inputs.empty() ? "not said" : row.fresh_inputs);
}

void compare_inputs(const ResultsFile& before, const ResultsFile& after, Differences& into) {
  const std::string gone = lone_case(before, after), added = lone_case(after, before);
  if (!gone.empty() || !added.empty()) {
    into.add("inputs", gone.empty() ? "all of its cases" : "also " + gone,
             added.empty() ? "all of its cases" : "also " + added);
  }
  for (const auto& [i, j] : matching_cases(before, after)) {
    const ResultCase &a = before.cases[i], &b = after.cases[j];
    // Of a case that was not measured nothing is known of its inputs.
    if (a.calls_per_repeat == 0 || b.calls_per_repeat == 0) continue;
    into.add(fmt::format("inputs of case {}", a.index), input_text(a), input_text(b));
  }
}

std::string why_no_times(const ResultCase& row) {
  if (row.status == "not run") return "not run";
  if (row.status != "pass") return row.error.empty() ? "failed" : row.error;
  return are_times(row.samples_ns) ? "" : "not measured";
}

ComparedTimes times_of(const ResultCase& row) {
  ComparedTimes times;
  times.error = why_no_times(row);
  times.samples_ns = row.samples_ns;
  times.worst_of_gate = row.worst_of_gate;
  times.worst_gate = row.worst_gate;
  if (times.error.empty()) times.median_ns = quantile(row.samples_ns, 0.5);
  return times;
}

void add_means_of_runs(ComparisonRecord& record) {
  std::map<std::string, std::vector<const ComparedCase*>> by_problem;
  for (const ComparedCase& row : record.cases) by_problem[row.spec.problem].push_back(&row);
  for (const auto& [problem, cases] : by_problem) {
    const bool complete = std::all_of(cases.begin(), cases.end(),
                                      [](const auto* row) { return !row->ratios.empty(); });
    if (cases.size() < 2 || !complete) continue;
    std::vector<Ratio> ratios;
    for (const ComparedCase* row : cases) ratios.push_back(row->ratios.front().ratio);
    const Ratio ratio = mean_ratio(ratios);
    record.means.push_back({problem, {{ratio, judge_ratio(ratio, record.same)}}});
  }
}

}  // namespace

std::vector<std::string> run_differences(const ResultsFile& before, const ResultsFile& after) {
  Differences differences;
  compare_devices(before, after, differences);
  differences.add("mode", before.mode, after.mode);
  differences.add("warm-up", before.warm_up ? "on" : "off", after.warm_up ? "on" : "off");
  differences.add("profiler", before.profiler.empty() ? "none" : before.profiler,
                  after.profiler.empty() ? "none" : after.profiler);
  return differences.found;
}

std::vector<std::string> differences(const ResultsFile& before, const ResultsFile& after) {
  Differences differences{run_differences(before, after)};
  compare_inputs(before, after, differences);
  return differences.found;
}

void require_same(const std::vector<std::string>& found, const std::string& subject, bool force) {
  if (!found.empty() && !force) {
    throw Error(ExitCode::usage,
                fmt::format("{} (they differ in {}); repeat one of the runs, or compare all the "
                            "same with `--force`",
                            subject, fmt::join(found, "; ")));
  }
  for (const std::string& difference : found) say("--force: they differ in " + difference);
}

std::vector<std::pair<std::size_t, std::size_t>> matching_cases(const ResultsFile& before,
                                                                const ResultsFile& after) {
  auto theirs = places(after);
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < before.cases.size(); ++i) {
    std::vector<std::size_t>& left = theirs[key_of(before.cases[i].spec)];
    if (left.empty()) continue;
    pairs.emplace_back(i, left.front());
    left.erase(left.begin());
  }
  return pairs;
}

bool are_times(const std::vector<double>& samples_ns) {
  return !samples_ns.empty() &&
         std::all_of(samples_ns.begin(), samples_ns.end(),
                     [](double sample) { return std::isfinite(sample) && sample > 0; });
}

Ratio ratio_of_runs(const std::vector<double>& before_ns, const std::vector<double>& after_ns,
                    double level) {
  Ratio ratio{quantile(after_ns, 0.5) / quantile(before_ns, 0.5), std::nullopt};
  const double each = each_of_two(level);
  const auto before = median_interval(before_ns, each), after = median_interval(after_ns, each);
  if (before && after) ratio.interval = {after->low / before->high, after->high / before->low};
  return ratio;
}

ComparisonRecord compare_results(const ResultsFile& before, const ResultsFile& after, double same) {
  ComparisonRecord record;
  record.paired = false;
  record.same = same;
  record.device = after.device;
  record.machine = after.machine;
  for (const ResultsFile* file : {&before, &after}) {
    ComparedKernel kernel;
    kernel.asked = file->path;
    kernel.info.name = file->cases.empty() ? "" : file->cases.front().kernel;
    record.kernels.push_back(std::move(kernel));
  }
  const auto pairs = matching_cases(before, after);
  // A geometric mean follows from the intervals of its cases and needs none of its own.
  record.level = level_of_each(static_cast<std::int64_t>(pairs.size()));
  for (const auto& [i, j] : pairs) {
    ComparedCase row;
    row.spec = before.cases[i].spec;
    row.case_index = before.cases[i].index;
    row.times = {times_of(before.cases[i]), times_of(after.cases[j])};
    if (row.times[0].error.empty() && row.times[1].error.empty()) {
      const Ratio ratio =
          ratio_of_runs(row.times[0].samples_ns, row.times[1].samples_ns, record.level);
      row.ratios.push_back({ratio, judge_ratio(ratio, same)});
    }
    record.cases.push_back(std::move(row));
  }
  add_means_of_runs(record);
  record.finished = true;
  return record;
}

}  // namespace kbench
