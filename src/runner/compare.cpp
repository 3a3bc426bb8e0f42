// `kbench compare` on kernels: each has a worker of its own, and the runner deals turns, so that
// two kernels are never measured at once and none is always the first. Knows neither how a worker
// lives nor how its times are printed.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>

#include "core/text.h"
#include "runner/commands.h"
#include "runner/compare_arm.h"
#include "runner/compare_words.h"
#include "runner/comparison.h"
#include "runner/document_file.h"
#include "runner/nonce.h"
#include "runner/progress.h"

namespace kbench {
namespace {

using Clock = std::chrono::steady_clock;
using Arms = std::vector<std::unique_ptr<Arm>>;

void put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// All measure on one device, or the ratio would be one of devices.
void require_one_device(const Arms& arms) {
  for (const auto& arm : arms) {
    const DeviceInfo &first = *arms.front()->device(), &other = *arm->device();
    if (other.kind == first.kind && other.index == first.index && other.uuid == first.uuid) {
      continue;
    }
    throw Error(ExitCode::usage,
                fmt::format("the kernels run on different devices (`{}` on {} {}, `{}` on {} {}); "
                            "compare kernels of one device",
                            to_one_line(arms.front()->info().name), to_string(first.kind),
                            to_one_line(first.name), to_one_line(arm->info().name),
                            to_string(other.kind), to_one_line(other.name)));
  }
}

class Comparison {
 public:
  Comparison(const Options& options, const Plan& plan, Arms& arms, Watch& watch,
             std::optional<ProgressLine> progress)
      : options_(options),
        plan_(plan),
        arms_(arms),
        watch_(watch),
        progress_(std::move(progress)) {}

  ExitCode execute();

 private:
  void fill_record();
  void describe_kernels();
  Job make_job(const PlannedCase& planned) const;
  ComparedCase run_case(std::size_t i);
  bool begin_all(std::size_t i, ComparedCase& row);
  void play(std::size_t i, ComparedCase& row);
  bool play_round(std::int64_t round, std::vector<double>& log_ratios, ComparedCase& row);
  void conclude_all(ComparedCase& row);

  const Options& options_;
  const Plan& plan_;
  Arms& arms_;
  Watch& watch_;
  void save();
  void show(const std::string& text);
  void progress(std::size_t i, const std::function<std::string()>& tail);

  std::optional<ProgressLine> progress_;
  ComparisonRecord record_;
  std::optional<DocumentFile> json_;
};

void Comparison::fill_record() {
  record_.machine = describe_machine();
  record_.started = utc_now();
  record_.command_line = options_.command_line;
  record_.nonce = options_.nonce ? *options_.nonce : draw_nonce();
  record_.same = options_.same;
  record_.fail_if_slower = options_.fail_if_slower;
  // Every case and every geometric mean, for every kernel but the first.
  std::vector<std::string> problems;
  for (const PlannedCase& planned : plan_.cases) problems.push_back(planned.spec.problem);
  problems.erase(std::unique(problems.begin(), problems.end()), problems.end());
  record_.level = level_of_each(
      static_cast<std::int64_t>((plan_.cases.size() + problems.size()) * (arms_.size() - 1)));
  record_.kernels.resize(arms_.size());
  for (std::size_t k = 0; k < arms_.size(); ++k) {
    record_.kernels[k].asked = options_.words[k];
    record_.kernels[k].source = arms_[k]->source();
  }
}

void Comparison::describe_kernels() {
  for (std::size_t k = 0; k < arms_.size(); ++k) record_.kernels[k].info = arms_[k]->info();
  record_.device = arms_.front()->device();
}

Job Comparison::make_job(const PlannedCase& planned) const {
  const Mode& mode = *options_.mode;
  Job job;
  job.kind = JobKind::measure;
  job.spec = planned.spec;
  job.seeds = planned.seeds;
  job.paced = true;
  job.range = false;
  // Every case: both kernels must be as warm in the last one as in the first.
  if (!options_.no_warmup) job.warm_up = mode.warm_up_limits;
  job.limits = mode.limits;
  job.fresh_inputs = options_.fresh_inputs != FreshInputs::off;
  job.nonce = record_.nonce;
  job.call_timeout_s = options_.call_timeout_s;
  if (!options_.save_failing.empty()) {
    job.save_failing = std::filesystem::absolute(options_.save_failing).string();
  }
  return job;
}

/// Sets the case up in one worker after the other. False when one of them failed.
bool Comparison::begin_all(std::size_t i, ComparedCase& row) {
  const PlannedCase& planned = plan_.cases[i];
  for (std::size_t k = 0; k < arms_.size(); ++k) {
    std::string& error = row.times[k].error;
    if (watch_.must_stop()) {
      error = fmt::format("not run ({})", watch_.short_reason());
      return false;
    }
    progress(i, [k] { return fmt::format("{} is set up and warmed up", kernel_letter(k)); });
    if (const auto words = arms_[k]->be_ready(planned.spec.problem, false)) error = *words;
    if (!error.empty()) return false;
    Job job = make_job(planned);
    job.save_stem =
        fmt::format("{}-{}-{}-{}x{}-{}", kernel_letter(k), planned.spec.problem, planned.case_index,
                    planned.spec.batch, planned.spec.n, planned.spec.kind);
    if (const auto words = arms_[k]->begin(job)) error = *words;
    if (!error.empty()) return false;
  }
  return true;
}

bool Comparison::play_round(std::int64_t round, std::vector<double>& log_ratios,
                            ComparedCase& row) {
  std::vector<double> times_ns(arms_.size(), 0.0);
  for (const std::size_t k : order_of_round(round, arms_.size())) {
    const std::optional<double> sample_ns = arms_[k]->turn();
    if (!sample_ns) return false;
    times_ns[k] = *sample_ns;
  }
  for (std::size_t k = 0; k < arms_.size(); ++k) row.times[k].samples_ns.push_back(times_ns[k]);
  for (std::size_t k = 1; k < arms_.size(); ++k) {
    log_ratios[k - 1] = std::log(times_ns[k] / times_ns[0]);
  }
  return true;
}

void Comparison::play(std::size_t i, ComparedCase& row) {
  RoundRule rule(arms_.size() - 1, record_.level, options_.same, options_.repeats);
  std::vector<double> log_ratios(arms_.size() - 1);
  const Clock::time_point begin = Clock::now();
  for (std::int64_t round = 0; row.stop == StopReason::none; ++round) {
    if (!play_round(round, log_ratios, row)) return;
    const double wall_s = seconds_since(begin);
    row.stop = rule.add(log_ratios, wall_s);
    // All workers wait for a turn now: nothing is being timed.
    progress(i, [&] { return rounds_text(rule, arms_.size() - 1, wall_s); });
  }
  for (std::size_t k = 1; k < arms_.size(); ++k) {
    const Ratio ratio = ratio_of_pairs(rule.log_ratios(k - 1), record_.level);
    row.ratios.push_back({ratio, judge_ratio(ratio, options_.same)});
  }
}

void Comparison::conclude_all(ComparedCase& row) {
  for (std::size_t k = 0; k < arms_.size(); ++k) {
    ComparedTimes& times = row.times[k];
    const Reply& reply = arms_[k]->conclude();
    if (times.error.empty()) times.error = arms_[k]->error();
    if (!reply.fresh_inputs.empty()) row.fresh_inputs = reply.fresh_inputs;
    times.worst_of_gate = reply.worst_of_gate;
    times.worst_gate = reply.worst_gate;
    if (!times.samples_ns.empty()) times.median_ns = quantile(times.samples_ns, 0.5);
    // What a kernel did in the last repeats may show in its last words only.
    if (!times.error.empty()) row.ratios.clear();
  }
}

ComparedCase Comparison::run_case(std::size_t i) {
  const PlannedCase& planned = plan_.cases[i];
  ComparedCase row;
  row.spec = planned.spec;
  row.case_index = planned.case_index;
  row.times.resize(arms_.size());
  if (begin_all(i, row)) play(i, row);
  conclude_all(row);
  return row;
}

/// On stdout, with no progress line in its way.
void Comparison::show(const std::string& text) {
  if (progress_) progress_->wipe();
  put(text);
}

void Comparison::progress(std::size_t i, const std::function<std::string()>& tail) {
  if (!progress_) return;
  progress_->draw_if_due([&](std::size_t width) {
    return progress_text(i + 1, plan_.cases.size(), plan_.cases[i].spec.spec, tail(), width);
  });
}

/// A pipe takes the final document only. What cannot be written at all is no reason to compare; in
/// the middle the next time may be better.
void Comparison::save() {
  if (!json_ || !(json_->is_file() || record_.finished)) return;
  const std::string document = comparison_document(record_);
  if (record_.cases.empty() && !record_.finished) return json_->save(document);
  const bool saved = json_->try_save(document);
  if (record_.finished && !saved && record_.exit_code == ExitCode::ok) {
    record_.exit_code = ExitCode::usage;
  }
}

ExitCode Comparison::execute() {
  fill_record();
  for (const auto& arm : arms_) {
    // A kernel that cannot be had at all fails its cases, in words.
    arm->be_ready(plan_.cases.front().spec.problem, true);
  }
  const bool known = std::all_of(arms_.begin(), arms_.end(),
                                 [](const auto& arm) { return arm->device().has_value(); });
  if (known) require_one_device(arms_);
  describe_kernels();
  std::vector<Case> cases;
  for (const PlannedCase& planned : plan_.cases) cases.push_back(planned.spec);
  const ComparisonLayout layout =
      comparison_layout(cases, text_style(STDOUT_FILENO, options_.color));
  if (!options_.json.empty()) json_.emplace("--json", options_.json);
  save();
  show(comparison_heading(record_, layout));
  for (std::size_t i = 0; i < plan_.cases.size(); ++i) {
    record_.cases.push_back(run_case(i));
    describe_kernels();
    show(comparison_row(record_, i, layout));
    save();
  }
  add_means(record_);
  record_.finished = true;
  record_.exit_code = comparison_exit_code(record_);
  show(comparison_footer(record_, layout));
  save();
  for (const auto& arm : arms_) arm->finish();
  return record_.exit_code;
}

}  // namespace

ExitCode compare(const Options& asked, Problems problems, const Session::Start& start,
                 Watch& watch) {
  const std::string profiler = detect_profiler();
  if (!profiler.empty()) {
    throw Error(ExitCode::usage, fmt::format("cannot compare under {} (its work is in the times); "
                                             "compare without it",
                                             profiler));
  }
  Options options = compare_options(asked);
  watch.limit(options.time_limit_s);
  std::optional<ProgressLine> progress = stderr_progress(options, false);
  Arms arms;
  for (const std::string& kernel : options.words) {
    Options own = options;
    own.kernel = kernel;
    check_kernel(own, problems);
    arms.push_back(std::make_unique<Arm>(own, problems, start, watch));
  }
  const std::size_t telling = telling_kernel(options, problems);
  options.kernel = options.words[telling];
  if (progress) {
    progress->draw(fmt::format("{} kernels and their device are being prepared", arms.size()));
  }
  const Plan plan = make_plan(
      options, problems, [&] { return arms[telling]->problem(); },
      [&watch] { return watch.must_stop(); });
  require_kernels_of_plan(options, plan);
  for (const auto& arm : arms) arm->build(plan);
  return Comparison(options, plan, arms, watch, std::move(progress)).execute();
}

}  // namespace kbench
