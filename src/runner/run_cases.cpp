// The rules of a run: the right worker and kernel for each case, a job by the mode's row, a result
// whatever happened, told in order. Knows neither how a worker lives nor how output looks; who gets
// which case is the dealer's.
#include "runner/run_cases.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include "core/defaults.h"
#include "core/text.h"
#include "runner/dealer.h"
#include "runner/nonce.h"
#include "runner/paths.h"
#include "runner/profiler.h"
#include "runner/say.h"
#include "runner/trace.h"

namespace kbench {
namespace {

class Run : public Rules {
 public:
  Run(const Start& start, std::span<const Place> places, Watch& watch,
      const std::vector<std::unique_ptr<Reporter>>& reporters)
      : options_(start.options),
        mode_(*start.options.mode),
        plan_(start.plan),
        watch_(watch),
        reporters_(reporters),
        nonce_(start.options.nonce ? *start.options.nonce : draw_nonce()),
        source_(start.source),
        kernel_error_(start.kernel_error),
        greeting_(start.greeting) {
    for (const Place& place : places) posts_.push_back({place, "", "", false});
    posts_.front().place.device = start.options.device;
    record_.device = start.device;
    if (start.greeting) {
      posts_.front().kernel = start.greeting_kernel;
      posts_.front().problem = plan_.cases.front().spec.problem;
    }
  }

  ExitCode execute();

  std::optional<std::string> why_not_run(std::size_t i) override;
  bool fits(std::size_t seat, std::size_t i) override;
  Setup make_setup(std::size_t seat, std::size_t i) override;
  std::optional<std::string> accept(std::size_t seat, std::size_t i, Hello hello) override;
  Job make_job(std::size_t seat, std::size_t i) override;
  void take_reply(std::size_t seat, std::size_t i, Reply reply) override;
  void fail(std::optional<std::size_t> seat, std::size_t i, const Failure& failure) override;
  void lose(std::size_t seat, const std::string& why) override;
  void deal_again(std::size_t i, const std::string& why) override;
  void report() override;
  std::optional<Watch::Clock::time_point> idle() override;

 private:
  /// A place, and what its present worker was set up for.
  struct Post {
    Place place;
    std::string kernel;
    std::string problem;
    bool warm = false;  ///< a job with warm-up was given to it
  };

  void fill_record();
  void fill_places();
  Flush job_flush() const {
    return options_.flush.value_or(is_trace() ? Flush::clean : Flush::once);
  }
  bool is_trace() const { return mode_.id == ModeId::trace; }
  void note_profiler(const Profiler& profiler);
  void require_kernels();
  std::string kernel_path(const std::string& problem) const;
  std::string kernel_name(const std::string& path) const;
  void find_kernels(Dealer& dealer);
  void mark_shared_devices();
  void add_reason(const std::string& reason);
  std::optional<std::string> lacking(std::size_t seat, ExitCode code, const std::string& words);
  std::optional<std::string> check_hello(std::size_t seat, std::size_t i, Hello hello);
  std::optional<std::size_t> failed_before(std::size_t i) const;
  void note_failure(std::size_t i);
  void begin(std::size_t i);
  void end(std::size_t i);
  ExitCode conclude();

  const Options& options_;
  const Mode& mode_;
  const Plan& plan_;
  Watch& watch_;
  const std::vector<std::unique_ptr<Reporter>>& reporters_;
  const std::uint64_t nonce_;
  const std::string source_;        // of the kernel, when it was compiled
  const std::string kernel_error_;  // why there is no kernel, when it could not be
  std::optional<Hello> greeting_;   // of a worker not yet taken over
  std::vector<Post> posts_;
  std::vector<std::optional<Watch::Clock::time_point>> began_;  // of each case
  RunRecord record_;
  std::string note_;
  std::string why_not_queued_;  // empty: launches may be held back
  std::string no_clocks_;       // why, as it was last said
  std::size_t reported_ = 0;    // cases that the reporters know
  bool begun_ = false;
  std::map<std::string, std::size_t> first_failed_;  // case, by problem
};

/// Told by the environment, or later by the worker whose device is open.
void Run::note_profiler(const Profiler& profiler) {
  if (profiler.tool.empty() || !record_.profiler.empty()) return;
  record_.profiler = profiler.tool;
  add_reason(fmt::format("run under {}", profiler.tool));
  why_not_queued_ = why_not_held_back(options_, profiler);
  std::string line = profiler_line(profiler);
  // ncu replays each kernel many times: one repeat is what a user of it wants to see.
  if (mode_.measures && profiler.tool == "ncu") {
    record_.warm_up = false;
    if (options_.repeats == 0) record_.exact_repeats = 1;
    line += fmt::format("; {} timed repeat{}, no warm-up (change with `--repeats N`)",
                        record_.exact_repeats, record_.exact_repeats == 1 ? "" : "s");
  }
  say(line);
}

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
  record_.exact_repeats = options_.repeats;
  record_.warm_up = !options_.no_warmup;
  record_.range = options_.range;
  why_not_queued_ = why_not_held_back(options_, {});
  note_profiler(present_profiler());
  if (options_.repeats > 0) add_reason(fmt::format("--repeats {}", options_.repeats));
  if (!options_.input.empty()) add_reason("--input");
  if (mode_.measures && job_flush() != Flush::once) {
    add_reason(fmt::format("--flush {}", to_string(job_flush())));
  }
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

void Run::fill_places() {
  for (const Post& post : posts_) {
    PlaceRecord& place = record_.places.emplace_back();
    place.rank = post.place.rank;
    place.host = post.place.host;
    place.asked = post.place.device;
    place.name = place_name(place);
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
std::optional<std::string> Run::lacking(std::size_t seat, ExitCode code, const std::string& words) {
  posts_[seat].place.lane->end();
  if (!begun_ && code != ExitCode::case_failed) {
    const bool several = posts_.size() > 1;
    throw Error(code, several ? record_.places[seat].name + ": " + words : words);
  }
  return words;
}

std::optional<std::string> Run::accept(std::size_t seat, std::size_t i, Hello hello) {
  auto words = check_hello(seat, i, std::move(hello));
  if (words && words->empty()) words = "failed";
  return words;
}

/// Takes what a fresh worker says; words when it cannot run the case.
std::optional<std::string> Run::check_hello(std::size_t seat, std::size_t i, Hello hello) {
  const CaseRecord& row = record_.cases[i];
  if (!hello.note.empty() && hello.note != note_) say(to_one_line(hello.note));
  note_ = hello.note;
  if (!hello.error.empty()) {
    return lacking(seat, hello.code == ExitCode::ok ? ExitCode::device : hello.code, hello.error);
  }
  if (!hello.device) return lacking(seat, ExitCode::device, "the worker named no device");
  PlaceRecord& place = record_.places[seat];
  place.device = hello.device;
  place.name = place_name(place);
  if (seat == 0 || !record_.device) record_.device = hello.device;
  if (hello.device->kind != record_.device->kind) {
    return lacking(seat, ExitCode::device,
                   fmt::format("the device is {} and that of the first place is {} (one run is for "
                               "one kind of device); choose with `--device` or `--devices`",
                               to_string(hello.device->kind), to_string(record_.device->kind)));
  }
  if (const auto no_cupti = why_no_cupti(options_, hello)) {
    return lacking(seat, ExitCode::device, *no_cupti);
  }
  if (is_trace()) {
    if (const std::optional<NoTrace> no = why_no_trace(hello)) {
      return lacking(seat, no->code, no->words);
    }
  }
  note_profiler(profiler_of(hello));
  if (!hello.kernel) return std::nullopt;
  const KernelInfo& kernel = *hello.kernel;
  if (kernel.problem != row.spec.problem || kernel.device != record_.device->kind) {
    return lacking(
        seat, ExitCode::usage,
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

bool Run::fits(std::size_t seat, std::size_t i) {
  const Post& post = posts_[seat];
  const std::string& problem = record_.cases[i].spec.problem;
  return post.problem == problem && (post.kernel.empty() || post.kernel == kernel_path(problem));
}

Setup Run::make_setup(std::size_t seat, std::size_t i) {
  Post& post = posts_[seat];
  post.problem = record_.cases[i].spec.problem;
  post.kernel = kernel_path(post.problem);
  begin(i);
  Setup setup;
  setup.device = post.place.device;
  setup.ask_cupti = asks_cupti(options_);
  setup.kernel_path = post.kernel;
  setup.lock = options_.lock;
  return setup;
}

Job Run::make_job(std::size_t seat, std::size_t i) {
  CaseRecord& row = record_.cases[i];
  const Case& spec = row.spec;
  begin(i);
  Job job;
  job.kind = mode_.measures ? JobKind::measure
                            : (mode_.only_first_case ? JobKind::profile : JobKind::check);
  job.spec = spec;
  job.kernel_path = kernel_path(spec.problem);
  job.seeds = plan_.cases[i].seeds;
  // The first case of a place wakes its device.
  const bool first = mode_.warm_up == WarmUp::first_case && !posts_[seat].warm;
  posts_[seat].warm = true;
  if ((mode_.warm_up == WarmUp::every_case || first) && record_.warm_up) {
    job.warm_up = mode_.warm_up_limits;
  }
  job.limits = mode_.limits;
  job.exact_repeats = record_.exact_repeats;
  job.range = options_.range;
  job.flush = job_flush();
  // After the timed repeats of a case; in a leaderboard run nothing touches CUPTI.
  job.idle_time = mode_.id == ModeId::benchmark && options_.cupti != CuptiUse::off &&
                  record_.profiler.empty() && record_.device &&
                  record_.device->kind == DeviceKind::cuda;
  if (is_trace()) request_trace(options_, plan_, i, job);
  job.fresh_inputs = mode_.measures && options_.fresh_inputs != FreshInputs::off;
  if (mode_.measures) {
    job.nonce = nonce_;
    row.fresh_inputs = job.fresh_inputs ? "on" : "off";
    row.nonce = nonce_;
  }
  job.call_timeout_s = options_.call_timeout_s;
  // Absolute: a kernel may change the worker's folder.
  if (!options_.save_failing.empty()) {
    job.save_failing = std::filesystem::absolute(options_.save_failing).string();
  }
  if (why_not_queued_.empty()) job.launch = options_.launch;
  job.save_stem =
      fmt::format("{}-{}-{}x{}-{}", spec.problem, row.case_index, spec.batch, spec.n, spec.kind);
  row.place = seat;
  row.begun = true;
  for (const auto& reporter : reporters_) reporter->case_begins(record_, i);
  posts_[seat].place.lane->observe([this, i](const Event& event) {
    for (const auto& reporter : reporters_) reporter->progressed(record_, i, event);
  });
  return job;
}

void Run::take_reply(std::size_t, std::size_t i, Reply reply) {
  CaseRecord& row = record_.cases[i];
  if (reply.kernel) row.kernel = *reply.kernel;
  row.passed = reply.passed;
  if (reply.declared_flops > 0) row.flops = reply.declared_flops;
  if (reply.declared_bytes > 0) row.bytes = reply.declared_bytes;
  row.error = reply.error;
  if (!reply.fresh_inputs.empty()) row.fresh_inputs = reply.fresh_inputs;
  row.reply = std::move(reply);
  end(i);
  const std::string& absent = row.reply.clocks.absent;
  if (!absent.empty() && absent != no_clocks_) {
    say(fmt::format("clocks are not watched: {}", to_one_line(absent)));
  }
  no_clocks_ = absent;
  if (options_.launch == Launch::queued && !why_not_queued_.empty()) {
    row.reply.queued.emplace().reason = why_not_queued_;
  }
  if (!row.passed) note_failure(i);
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
    note_failure(i);
  }
}

void Run::fail(std::optional<std::size_t> seat, std::size_t i, const Failure& failure) {
  CaseRecord& row = record_.cases[i];
  row.error = failure.words;
  row.repeatable = failure.kind != Failure::Kind::stopped && failure.kind != Failure::Kind::lost;
  if (seat) row.place = seat;
  end(i);
  note_failure(i);
}

void Run::begin(std::size_t i) {
  if (!began_[i]) began_[i] = Watch::Clock::now();
}

void Run::end(std::size_t i) {
  CaseRecord& row = record_.cases[i];
  row.ended = true;
  if (!began_[i]) return;
  row.wall_s = std::chrono::duration<double>(Watch::Clock::now() - *began_[i]).count();
}

void Run::lose(std::size_t seat, const std::string& why) {
  PlaceRecord& place = record_.places[seat];
  place.lost = why;
  say(fmt::format("{} is left out from here on ({})", place.name, to_one_line(why)));
}

void Run::deal_again(std::size_t i, const std::string& why) {
  CaseRecord& row = record_.cases[i];
  row.dealt_again = fmt::format("{}: {}", row.place ? record_.places[*row.place].name : "", why);
  say(fmt::format("case {} goes to another device", i));
}

std::optional<std::size_t> Run::failed_before(std::size_t i) const {
  const auto failed = first_failed_.find(record_.cases[i].spec.problem);
  if (failed == first_failed_.end() || failed->second >= i) return std::nullopt;
  return failed->second;
}

void Run::note_failure(std::size_t i) {
  const auto [first, is_new] = first_failed_.try_emplace(record_.cases[i].spec.problem, i);
  if (!is_new) first->second = std::min(first->second, i);
}

/// Places whose workers share a device, or the cores of a machine, disturb each other.
void Run::mark_shared_devices() {
  std::map<std::string, int> users;
  int most = 0;
  for (const PlaceRecord& place : record_.places) {
    if (place.device) most = std::max(most, ++users[place.host + '/' + place.device->uuid]);
  }
  if (most > 1) add_reason(fmt::format("{} workers share a device", most));
}

void Run::add_reason(const std::string& reason) {
  record_.not_comparable += (record_.not_comparable.empty() ? "" : "; ") + reason;
}

std::optional<std::string> Run::why_not_run(std::size_t i) {
  if (watch_.must_stop()) return fmt::format("not run ({})", watch_.short_reason());
  if (!kernel_error_.empty()) return kernel_error_;
  if (!mode_.stop_after_failure) return std::nullopt;
  const auto failed = failed_before(i);
  if (!failed) return std::nullopt;
  return fmt::format("not run (case {} failed)", *failed);
}

/// In the order of the cases, whatever the order in which they end. Where a failure ends its
/// problem a later case may have run elsewhere meanwhile; that counts for nothing, so that results
/// do not depend on the number of places.
void Run::report() {
  for (; reported_ < record_.cases.size() && record_.cases[reported_].ended; ++reported_) {
    CaseRecord& row = record_.cases[reported_];
    const auto failed = mode_.stop_after_failure ? failed_before(reported_) : std::nullopt;
    if (failed && row.place) {
      CaseRecord unrun;
      unrun.spec = row.spec;
      unrun.case_index = row.case_index;
      unrun.flops = row.flops;
      unrun.bytes = row.bytes;
      unrun.kernel = row.kernel;
      unrun.ended = true;
      unrun.error = fmt::format("not run (case {} failed)", *failed);
      row = std::move(unrun);
    }
    // No process that ran a kernel is left when the last lines are written: should one have found a
    // way to the result descriptor, these lines come after its own.
    if (reported_ + 1 == record_.cases.size()) {
      for (const Post& post : posts_) post.place.lane->finish();
    }
    for (const auto& reporter : reporters_) reporter->case_ended(record_, reported_);
  }
}

/// The earliest time at which a reporter wants to write more.
std::optional<Watch::Clock::time_point> Run::idle() {
  std::optional<Watch::Clock::time_point> first;
  if (!begun_) return first;
  for (const auto& reporter : reporters_) {
    const auto at = reporter->idle(record_);
    if (at && (!first || *at < *first)) first = at;
  }
  return first;
}

/// The kernel of every case and the worker of the first one, on every place. That comes before the
/// first line of any output: without a device or a kernel there is no run.
void Run::find_kernels(Dealer& dealer) {
  if (!options_.kernel.empty()) require_kernels();
  if (!watch_.must_stop()) dealer.greet_all(0, std::exchange(greeting_, std::nullopt));
  if (record_.device) require_kernels();
  mark_shared_devices();
}

ExitCode Run::execute() {
  fill_record();
  fill_places();
  std::vector<Lane*> lanes;
  for (const Post& post : posts_) lanes.push_back(post.place.lane);
  began_.resize(record_.cases.size());
  Dealer dealer(lanes, *this, watch_, record_.cases.size());
  if (kernel_error_.empty()) find_kernels(dealer);
  for (const auto& reporter : reporters_) reporter->begin(record_);
  begun_ = true;
  dealer.run();
  return conclude();
}

ExitCode Run::conclude() {
  record_.finished = true;
  record_.exit_code = record_.all_passed() ? ExitCode::ok : ExitCode::case_failed;
  for (const auto& reporter : reporters_) {
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

ExitCode run_cases(const Start& start, std::span<const Place> places, Watch& watch,
                   const std::vector<std::unique_ptr<Reporter>>& reporters) {
  return Run(start, places, watch, reporters).execute();
}

}  // namespace kbench
