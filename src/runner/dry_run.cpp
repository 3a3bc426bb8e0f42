// Says what a run would take without running it: opens no device and no plug-in, starts no worker
// and writes no file. Guesses no time: one is a figure of a former run, or it is unknown.
#include "runner/dry_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

#include "core/defaults.h"
#include "core/text.h"
#include "runner/compare_files.h"
#include "runner/toolchain.h"
#include "runner/user_kernel.h"

namespace kbench {
namespace {

constexpr std::size_t k_widest_spec = 72;  // that other rows make room for

/// What a case will take.
struct Expected {
  enum class From { nothing, resume, baseline } from = From::nothing;
  double seconds = 0;
};

std::string seconds_text(double seconds) {
  return seconds < 1 ? fmt::format("{:.2f} s", seconds) : fmt::format("{:.1f} s", seconds);
}

std::string bytes_text(double bytes) {
  constexpr double k_kib = 1024, k_mib = 1024 * k_kib, k_gib = 1024 * k_mib;
  if (bytes < k_mib) return fmt::format("{:.1f} KiB", bytes / k_kib);
  if (bytes < k_gib) return fmt::format("{:.1f} MiB", bytes / k_mib);
  return fmt::format("{:.2f} GiB", bytes / k_gib);
}

/// The plan's cases in the form that former results are matched with.
ResultsFile as_file(const Plan& plan) {
  ResultsFile file;
  for (const PlannedCase& planned : plan.cases) {
    ResultCase row;
    row.spec = planned.spec;
    file.cases.push_back(row);
  }
  return file;
}

bool is_measured(const ResultCase& row) { return row.status == "pass" && row.mean_ns; }

std::vector<Expected> expected_times(const Plan& plan, const FormerRuns& former) {
  std::vector<Expected> times(plan.cases.size());
  const ResultsFile planned = as_file(plan);
  if (former.baseline != nullptr) {
    for (const auto& [i, k] : matching_cases(*former.baseline, planned)) {
      const ResultCase& row = former.baseline->cases[i];
      // Older documents do not say how long a case took.
      if (is_measured(row) && row.wall_s > 0) times[k] = {Expected::From::baseline, row.wall_s};
    }
  }
  if (former.resume != nullptr) {
    for (const auto& [i, k] : matching_cases(*former.resume, planned)) {
      if (is_measured(former.resume->cases[i])) times[k] = {Expected::From::resume, 0};
    }
  }
  return times;
}

std::string time_text(const Expected& time) {
  if (time.from == Expected::From::nothing) return "unknown";
  return time.from == Expected::From::resume ? "taken over" : "about " + seconds_text(time.seconds);
}

Job job_of(const Options& options, const PlannedCase& planned) {
  Job job;
  job.kind = options.mode->measures ? JobKind::measure : JobKind::check;
  job.spec = planned.spec;
  job.seeds = planned.seeds;
  job.fresh_inputs = options.mode->measures && options.fresh_inputs != FreshInputs::off;
  return job;
}

std::string kernel_text(const Options& options, const std::string& problem) {
  if (!options.kernel.empty()) return to_one_line(options.kernel);
  const auto on = [&](DeviceKind kind) {
    const std::string_view name = default_kernel(problem, kind);
    return fmt::format("{} on {}", name.empty() ? "none" : name, to_string(kind));
  };
  const bool several = options.all_devices || !options.devices.empty();
  const DeviceRequest::Kind asked =
      several && !options.all_devices ? options.devices.front().kind : options.device.kind;
  if (asked == DeviceRequest::Kind::host) return on(DeviceKind::host);
  if (asked == DeviceRequest::Kind::cuda || options.all_devices) return on(DeviceKind::cuda);
  return fmt::format("{}, {}", on(DeviceKind::cuda), on(DeviceKind::host));
}

std::string rule_text(const Options& options) {
  const Mode& mode = *options.mode;
  if (!mode.measures) return "each is one call and its check";
  const std::string repeats = options.repeats > 0
                                  ? fmt::format("{}", options.repeats)
                                  : fmt::format("up to {}", mode.limits.max_repeats);
  return fmt::format("each takes inputs, {}{} timed repeats and checks{}",
                     options.no_warmup ? "" : "warm-up where the mode has one, ", repeats,
                     options.repeats > 0 ? "" : "; no loop goes on once it has taken 120 s");
}

std::string time_lines(const Options& options, const Plan& plan, const std::vector<Expected>& times,
                       const FormerRuns& former) {
  const auto count = [&](Expected::From from) {
    return std::count_if(times.begin(), times.end(),
                         [from](const Expected& time) { return time.from == from; });
  };
  double seconds = 0;
  for (const Expected& time : times) seconds += time.seconds;
  const auto known = count(Expected::From::baseline), taken = count(Expected::From::resume);
  const auto unknown = count(Expected::From::nothing);
  std::string text = "time: ";
  if (known > 0) {
    text +=
        fmt::format("about {} for {} of {} cases, as long as they took in `{}`; ",
                    seconds_text(seconds), known, times.size(), to_one_line(former.baseline->path));
  }
  if (taken > 0) {
    text +=
        fmt::format("{} taken over from `{}`, should that run be one that this can go on from; ",
                    taken, to_one_line(former.resume->path));
  }
  if (unknown > 0) {
    text += fmt::format("{} unknown ({}; `--baseline RESULTS.json` tells more)", unknown,
                        rule_text(options));
  } else {
    text += "none unknown";
  }
  const std::optional<double> limit =
      options.time_limit_s ? options.time_limit_s : plan.time_limit_s;
  if (limit) text += fmt::format("\nthe run ends after {} s at the latest", *limit);
  return text + '\n';
}

void refuse_outputs(const Options& options) {
  const std::pair<const char*, const std::string&> outputs[] = {{"--json", options.json},
                                                                {"--csv", options.csv},
                                                                {"--markdown", options.markdown},
                                                                {"--junit", options.junit}};
  for (const auto& [flag, path] : outputs) {
    if (path.empty()) continue;
    throw Error(ExitCode::usage, fmt::format("`--dry-run` has no results to write to `{}`; leave "
                                             "out `{}` or `--dry-run`",
                                             to_one_line(path), flag));
  }
}

}  // namespace

std::string dry_run_text(const Options& options, const Plan& plan, JobMemory memory,
                         const FormerRuns& former) {
  const std::vector<Expected> times = expected_times(plan, former);
  std::size_t width = 4;
  for (const PlannedCase& planned : plan.cases) {
    width = std::max(width, std::min(width_of(to_one_line(planned.spec.spec)), k_widest_spec));
  }
  std::string text, problem;
  double most = 0;
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const Case& spec = plan.cases[i].spec;
    if (spec.problem != problem) {
      text += fmt::format("{}{}: kernel {}\n  #  {}      memory  time\n", i == 0 ? "" : "\n",
                          spec.problem, kernel_text(options, spec.problem), pad("case", width));
    }
    problem = spec.problem;
    const double bytes = memory(job_of(options, plan.cases[i]));
    most = std::max(most, bytes);
    text += fmt::format("{:>3}  {}  {:>10}  {}\n", i, pad(to_one_line(spec.spec), width),
                        bytes > 0 ? bytes_text(bytes) : "unknown", time_text(times[i]));
  }
  text += fmt::format("{} case{}; nothing was run\n", plan.cases.size(),
                      plan.cases.size() == 1 ? "" : "s");
  text += fmt::format(
      "memory: arrays and checker's scratch, {} at most; the buffer that flushes the cache and the "
      "kernel's own memory come on top\n",
      bytes_text(most));
  return text + time_lines(options, plan, times, former);
}

ExitCode dry_run(const Options& options, Problems problems, JobMemory memory,
                 const std::function<bool()>& cancelled) {
  refuse_outputs(options);
  check_kernel(options, problems);
  // A plug-in would say it, but nothing is loaded or compiled here: the source's text or the case
  // names decide.
  const auto problem = [&] {
    return is_source_path(options.kernel) ? problem_in_source(options.kernel, problems) : "";
  };
  const Plan plan = make_plan(options, problems, problem, cancelled);
  std::optional<ResultsFile> resume, baseline;
  if (!options.resume.empty()) resume = read_results(options.resume, cancelled);
  if (!options.baseline.empty()) baseline = read_results(options.baseline, cancelled);
  const std::string text = dry_run_text(
      options, plan, memory, {resume ? &*resume : nullptr, baseline ? &*baseline : nullptr});
  std::fwrite(text.data(), 1, text.size(), stdout);
  return ExitCode::ok;
}

}  // namespace kbench
