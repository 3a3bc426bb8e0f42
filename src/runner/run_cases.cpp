// Runs the cases of a plan one after the other: the right worker and kernel for each, a job by the
// mode's row, a result whatever happened. Knows neither how a worker lives nor how output looks.
#include "runner/run_cases.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "core/defaults.h"
#include "core/text.h"
#include "runner/nonce.h"
#include "runner/paths.h"
#include "runner/say.h"

namespace kbench {
namespace {

class Run {
 public:
  Run(const Start& start, Session& session, Watch& watch)
      : options_(start.options),
        mode_(*start.options.mode),
        plan_(start.plan),
        session_(session),
        watch_(watch),
        nonce_(start.options.nonce ? *start.options.nonce : draw_nonce()),
        source_(start.source),
        kernel_error_(start.kernel_error) {
    record_.device = start.device;
    if (start.greeting) {
      worker_kernel_ = start.greeting_kernel;
      worker_problem_ = plan_.cases.front().spec.problem;
      greeting_ = start.greeting;
    }
  }

  ExitCode execute(const std::vector<std::unique_ptr<Reporter>>& reporters);

 private:
  void fill_record();
  void require_kernels();
  std::string kernel_path(const std::string& problem) const;
  std::string kernel_name(const std::string& path) const;
  void find_kernels();
  std::optional<std::string> acquire_worker(const CaseRecord& row);
  std::optional<std::string> accept(Hello hello, const CaseRecord& row);
  std::optional<std::string> lacking(ExitCode code, const std::string& words);
  std::optional<std::string> why_not_run(std::size_t i);
  void run_case(std::size_t i);
  void take_reply(CaseRecord& row, Reply reply);
  Job make_job(std::size_t i) const;

  const Options& options_;
  const Mode& mode_;
  const Plan& plan_;
  Session& session_;
  Watch& watch_;
  const std::uint64_t nonce_;
  const std::string source_;        // of the kernel, when it was compiled
  const std::string kernel_error_;  // why there is no kernel, when it could not be
  RunRecord record_;
  std::optional<Hello> greeting_;  // of a worker not yet taken over
  std::string worker_kernel_;      // what the present worker was set up for
  std::string worker_problem_;
  std::string note_;
  std::string no_clocks_;                     // why, as it was last said
  std::optional<std::string> first_trouble_;  // of the worker that was started before any output
  bool begun_ = false;
};

void Run::fill_record() {
  record_.mode = &mode_;
  record_.machine = describe_machine();
  record_.started = utc_now();
  record_.command_line = options_.command_line;
  record_.tags = options_.tags;
  if (!source_.empty()) {
    std::error_code error;
    record_.kernel_source = std::filesystem::absolute(source_, error).lexically_normal().string();
    record_.nvcc_flags = options_.nvcc_flags;
  }
  record_.profiler = detect_profiler();
  record_.exact_repeats = options_.repeats;
  record_.warm_up = !options_.no_warmup;
  record_.range = options_.range;
  std::string& why = record_.not_comparable;
  const auto add = [&why](const std::string& reason) { why += (why.empty() ? "" : "; ") + reason; };
  if (!record_.profiler.empty()) add(fmt::format("run under {}", record_.profiler));
  // ncu replays each kernel many times: one repeat is what a user of it wants to see.
  if (mode_.measures && record_.profiler == "ncu") {
    record_.warm_up = false;
    if (options_.repeats == 0) record_.exact_repeats = 1;
    say(fmt::format("running under ncu: {} timed repeat{}, no warm-up (change with `--repeats N`)",
                    record_.exact_repeats, record_.exact_repeats == 1 ? "" : "s"));
  }
  if (options_.repeats > 0) add(fmt::format("--repeats {}", options_.repeats));
  if (!options_.input.empty()) add("--input");
  for (const PlannedCase& planned : plan_.cases) {
    CaseRecord row;
    row.spec = planned.spec;
    row.case_index = planned.case_index;
    row.flops = planned.flops;
    row.bytes = planned.bytes;
    if (!kernel_error_.empty()) {
      row.kernel.name = kernel_name("");
      row.kernel.problem = row.spec.problem;
      if (record_.device) row.kernel.device = record_.device->kind;
    }
    record_.cases.push_back(std::move(row));
  }
}

/// Path of the plug-in for a problem; empty when there is none, or only the device could tell which
/// and is not known.
std::string Run::kernel_path(const std::string& problem) const {
  if (is_kernel_path(options_.kernel)) return options_.kernel;
  std::string name = options_.kernel;
  if (name.empty() && record_.device) name = default_kernel(problem, record_.device->kind);
  return name.empty() ? "" : find_plugin(problem, name);
}

/// Before the plug-in itself tells: the name of the user's file.
std::string Run::kernel_name(const std::string& path) const {
  return std::filesystem::path(source_.empty() ? path : source_).stem().string();
}

/// Names the kernel of every case. Throws Error(usage) when a problem has none.
void Run::require_kernels() {
  for (CaseRecord& row : record_.cases) {
    if (!row.kernel.name.empty()) continue;
    const std::string path = kernel_path(row.spec.problem);
    if (path.empty()) {
      const std::string device(record_.device ? to_string(record_.device->kind) : "any device");
      throw Error(ExitCode::usage,
                  fmt::format("no kernel{} for problem {} on {} (no such plug-in is shipped); see "
                              "`kbench list kernels` and choose with `--kernel`",
                              options_.kernel.empty() ? "" : fmt::format(" `{}`", options_.kernel),
                              row.spec.problem, device));
    }
    row.kernel.path = path;
    row.kernel.name = kernel_name(path);
    row.kernel.problem = row.spec.problem;
    if (record_.device) row.kernel.device = record_.device->kind;
  }
}

/// What is missing ends the run before the first case, and fails the case afterwards. A failed case
/// is always a result with a verdict.
std::optional<std::string> Run::lacking(ExitCode code, const std::string& words) {
  session_.end();
  if (!begun_ && code != ExitCode::case_failed) throw Error(code, words);
  return words;
}

/// Takes what a fresh worker says; words when it cannot run the case.
std::optional<std::string> Run::accept(Hello hello, const CaseRecord& row) {
  if (!hello.note.empty() && hello.note != note_) say(to_one_line(hello.note));
  note_ = hello.note;
  if (!hello.error.empty()) {
    return lacking(hello.code == ExitCode::ok ? ExitCode::device : hello.code, hello.error);
  }
  if (!hello.device) return lacking(ExitCode::device, "the worker named no device");
  record_.device = hello.device;
  if (!hello.kernel) return std::nullopt;
  const KernelInfo& kernel = *hello.kernel;
  if (kernel.problem != row.spec.problem || kernel.device != record_.device->kind) {
    return lacking(
        ExitCode::usage,
        fmt::format("kernel `{}` is for problem {} on {}, not for {} on {}; choose "
                    "another with `--kernel`, `--problem` or `--device`",
                    to_one_line(kernel.path), to_one_line(kernel.problem), to_string(kernel.device),
                    row.spec.problem, to_string(record_.device->kind)));
  }
  for (CaseRecord& other : record_.cases) {
    if (other.spec.problem == kernel.problem) other.kernel = kernel;
  }
  return std::nullopt;
}

/// Makes sure that there is a worker for this case; words when there cannot be one.
std::optional<std::string> Run::acquire_worker(const CaseRecord& row) {
  if (greeting_) return accept(*std::exchange(greeting_, std::nullopt), row);
  const std::string path = kernel_path(row.spec.problem);
  const bool kernel_fits = worker_kernel_ == path || worker_kernel_.empty();
  if (session_.has_worker() && worker_problem_ == row.spec.problem && kernel_fits) {
    return std::nullopt;
  }
  Setup setup;
  setup.device = options_.device;
  setup.kernel_path = path;
  worker_kernel_ = path;
  worker_problem_ = row.spec.problem;
  auto answer = session_.set_up(setup);
  if (auto* failure = std::get_if<Failure>(&answer)) return failure->words;
  return accept(std::get<Hello>(std::move(answer)), row);
}

Job Run::make_job(std::size_t i) const {
  const Case& spec = record_.cases[i].spec;
  Job job;
  job.kind = mode_.measures ? JobKind::measure
                            : (mode_.only_first_case ? JobKind::profile : JobKind::check);
  job.spec = spec;
  job.kernel_path = kernel_path(spec.problem);
  job.seeds = plan_.cases[i].seeds;
  const bool warm =
      mode_.warm_up == WarmUp::every_case || (mode_.warm_up == WarmUp::first_case && i == 0);
  if (warm && record_.warm_up) job.warm_up = mode_.warm_up_limits;
  job.limits = mode_.limits;
  job.exact_repeats = record_.exact_repeats;
  job.range = options_.range;
  job.fresh_inputs = mode_.measures && options_.fresh_inputs != FreshInputs::off;
  if (mode_.measures) job.nonce = nonce_;
  job.call_timeout_s = options_.call_timeout_s;
  // Absolute: a kernel may change the worker's folder.
  if (!options_.save_failing.empty()) {
    job.save_failing = std::filesystem::absolute(options_.save_failing).string();
  }
  job.save_stem = fmt::format("{}-{}-{}x{}-{}", spec.problem, record_.cases[i].case_index,
                              spec.batch, spec.n, spec.kind);
  return job;
}

void Run::take_reply(CaseRecord& row, Reply reply) {
  if (reply.worker_unusable) session_.end();
  if (reply.kernel) row.kernel = *reply.kernel;
  row.passed = reply.passed;
  row.error = reply.error;
  if (!reply.fresh_inputs.empty()) row.fresh_inputs = reply.fresh_inputs;
  row.reply = std::move(reply);
  const std::string& absent = row.reply.clocks.absent;
  if (!absent.empty() && absent != no_clocks_) {
    say(fmt::format("clocks are not watched: {}", to_one_line(absent)));
  }
  no_clocks_ = absent;
  if (!row.passed || !mode_.measures) return;
  const std::vector<double>& samples = row.reply.samples_ns;
  const bool sound = !samples.empty() && std::all_of(samples.begin(), samples.end(), [](double s) {
    return std::isfinite(s) && s > 0;
  });
  if (sound) {
    row.summary = summarize(samples);
    row.distribution = describe_distribution(samples);
  } else {
    row.passed = false;
    row.error =
        fmt::format("no sound time ({} samples, not all finite and above 0)", samples.size());
  }
}

/// Why case i is not even begun, if so.
std::optional<std::string> Run::why_not_run(std::size_t i) {
  if (watch_.must_stop()) return fmt::format("not run ({})", watch_.short_reason());
  if (!kernel_error_.empty()) return kernel_error_;
  if (!mode_.stop_after_failure) return std::nullopt;
  for (std::size_t k = 0; k < i; ++k) {
    const CaseRecord& before = record_.cases[k];
    if (before.spec.problem == record_.cases[i].spec.problem && !before.passed) {
      return fmt::format("not run (case {} failed)", k);
    }
  }
  return std::nullopt;
}

void Run::run_case(std::size_t i) {
  CaseRecord& row = record_.cases[i];
  const Watch::Clock::time_point begin = Watch::Clock::now();
  std::optional<std::string> error = why_not_run(i);
  if (!error) error = first_trouble_ ? std::exchange(first_trouble_, {}) : acquire_worker(row);
  if (error) {
    row.error = error->empty() ? "failed" : *error;
  } else {
    const Job job = make_job(i);
    if (mode_.measures) {
      row.fresh_inputs = job.fresh_inputs ? "on" : "off";
      row.nonce = job.nonce;
    }
    auto answer = session_.run(job);
    if (auto* failure = std::get_if<Failure>(&answer)) {
      row.error = failure->words;
      row.repeatable = failure->kind != Failure::Kind::stopped;
    } else {
      take_reply(row, std::get<Reply>(std::move(answer)));
    }
  }
  row.wall_s = std::chrono::duration<double>(Watch::Clock::now() - begin).count();
  row.ended = true;
}

/// The kernel of every case and the worker of the first one. That comes before the first line of
/// any output: without a device or a kernel there is no run.
void Run::find_kernels() {
  if (!options_.kernel.empty()) require_kernels();
  if (!watch_.must_stop()) first_trouble_ = acquire_worker(record_.cases.front());
  if (record_.device) require_kernels();
}

ExitCode Run::execute(const std::vector<std::unique_ptr<Reporter>>& reporters) {
  fill_record();
  if (kernel_error_.empty()) find_kernels();
  for (const auto& reporter : reporters) reporter->begin(record_);
  begun_ = true;
  for (std::size_t i = 0; i < record_.cases.size(); ++i) {
    run_case(i);
    // No process that ran a kernel is left when the last lines are written: should one have found a
    // way to the result descriptor, these lines come after its own.
    if (i + 1 == record_.cases.size()) session_.finish();
    for (const auto& reporter : reporters) reporter->case_ended(record_, i);
  }
  record_.finished = true;
  record_.exit_code = record_.all_passed() ? ExitCode::ok : ExitCode::case_failed;
  for (const auto& reporter : reporters) {
    try {
      reporter->end(record_);
    } catch (const Error& error) {
      // The others still end, and tell the exit code that follows from this.
      say(error.what());
      record_.exit_code = error.code();
    }
  }
  return record_.exit_code;
}

}  // namespace

ExitCode run_cases(const Start& start, Session& session, Watch& watch,
                   const std::vector<std::unique_ptr<Reporter>>& reporters) {
  return Run(start, session, watch).execute(reporters);
}

}  // namespace kbench
