// The rules of a run: the right worker and kernel for each case, a job by the mode's row, a result
// whatever happened, told in order. Knows neither how a worker lives nor how output looks; who gets
// which case is the dealer's.
#include "runner/run_cases.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "core/text.h"
#include "runner/baseline.h"
#include "runner/begin_record.h"
#include "runner/case_job.h"
#include "runner/case_kernels.h"
#include "runner/compare_files.h"
#include "runner/dealer.h"
#include "runner/nonce.h"
#include "runner/profiler.h"
#include "runner/say.h"
#include "runner/together.h"
#include "runner/trace.h"
#include "runner/user_kernel.h"

namespace kbench {
namespace {

class Run : public TogetherRules {
 public:
  Run(const Start& start, std::span<const Place> places, Watch& watch,
      const std::vector<std::unique_ptr<Reporter>>& reporters)
      : start_(start),
        options_(start.options),
        mode_(*start.options.mode),
        plan_(start.plan),
        watch_(watch),
        reporters_(reporters),
        nonce_(start.options.nonce ? *start.options.nonce : draw_nonce()),
        greeting_(start.greeting),
        record_(begin_record(start, places)) {
    for (const Place& place : places) posts_.push_back({place, "", "", false});
    posts_.front().place.device = start.options.device;
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
  void take_all(std::size_t i, std::vector<LaneOutcome> outcomes, StopReason stop) override;
  StopLimits limits() const override { return mode_.limits; }
  std::int64_t exact_repeats() const override { return record_.exact_repeats; }

 private:
  /// A place, and what its present worker was set up for.
  struct Post {
    Place place;
    std::string kernel;
    std::string problem;
    bool warm = false;  ///< a job with warm-up was given to it
  };

  bool is_trace() const { return mode_.id == ModeId::trace; }
  void find_kernels(Dealer& dealer);
  void use_former_runs(Dealer& dealer);
  std::optional<std::string> lacking(std::size_t seat, ExitCode code, const std::string& words);
  std::optional<std::string> check_hello(std::size_t seat, std::size_t i, Hello hello);
  std::optional<std::size_t> failed_before(std::size_t i) const;
  void note_failure(std::size_t i);
  void begin(std::size_t i);
  void end(std::size_t i);
  ExitCode conclude();

  const Start& start_;
  const Options& options_;
  const Mode& mode_;
  const Plan& plan_;
  Watch& watch_;
  const std::vector<std::unique_ptr<Reporter>>& reporters_;
  const std::uint64_t nonce_;
  std::optional<Hello> greeting_;  // of a worker not yet taken over
  std::vector<Post> posts_;
  std::vector<std::optional<Watch::Clock::time_point>> began_;  // of each case
  RunRecord record_;
  std::optional<Baseline> baseline_;
  std::string note_;
  std::string no_clocks_;     // why, as it was last said
  std::size_t reported_ = 0;  // cases that the reporters know
  bool begun_ = false;
  std::map<std::string, std::size_t> first_failed_;  // case, by problem
};

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
    const ExitCode code = hello.code == ExitCode::ok ? ExitCode::device : hello.code;
    // A source that makes no plug-in is a failed case, as one that does not compile.
    const bool by_source = code == ExitCode::usage && !start_.source.empty();
    return lacking(seat, by_source ? ExitCode::case_failed : code,
                   name_source(hello.error, options_.kernel, start_.source));
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
  note_profiler(record_, options_, profiler_of(hello));
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
  return post.problem == problem &&
         (post.kernel.empty() || post.kernel == kernel_path(start_, record_, problem));
}

Setup Run::make_setup(std::size_t seat, std::size_t i) {
  Post& post = posts_[seat];
  post.problem = record_.cases[i].spec.problem;
  post.kernel = kernel_path(start_, record_, post.problem);
  begin(i);
  Setup setup;
  setup.device = post.place.device;
  setup.ask_cupti = asks_cupti(options_);
  setup.kernel_path = post.kernel;
  setup.lock = options_.lock;
  setup.call_timeout_s = options_.call_timeout_s;
  return setup;
}

Job Run::make_job(std::size_t seat, std::size_t i) {
  CaseRecord& row = record_.cases[i];
  begin(i);
  Job job = make_case_job(start_, record_, i, nonce_, std::exchange(posts_[seat].warm, true));
  if (mode_.measures) {
    row.fresh_inputs = job.fresh_inputs ? "on" : "off";
    row.nonce = nonce_;
  }
  if (!options_.together || seat == 0) row.place = seat;
  row.begun = true;
  if (options_.together && seat > 0) return job;
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
  if (options_.launch == Launch::queued && !record_.why_not_queued.empty()) {
    row.reply.queued.emplace().reason = record_.why_not_queued;
  }
  if (!row.passed) note_failure(i);
  if (!row.passed || !mode_.measures) return;
  const std::vector<double>& samples = row.reply.samples_ns;
  if (are_times(samples)) {
    row.summary = summarize(samples);
    row.distribution = describe_distribution(samples);
  } else {
    row.passed = false;
    row.error =
        fmt::format("no sound time ({} samples, not all finite and above 0)", samples.size());
    note_failure(i);
  }
}

/// The case is that of all its workers: it fails with the first of them that says why, and passes
/// with the slowest time of each repeat.
void Run::take_all(std::size_t i, std::vector<LaneOutcome> outcomes, StopReason stop) {
  if (const std::optional<BadOutcome> bad = find_bad(outcomes)) {
    const std::string words = record_.places[bad->seat].name + ": " + bad->failure.words;
    return fail(bad->seat, i, {bad->failure.kind, words});
  }
  std::vector<TogetherFigures::Lane> lanes;
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    lanes.push_back(
        {k, std::get<Reply>(std::move(outcomes[k].news)), outcomes[k].clock_uncertainty_ns});
  }
  try {
    TogetherFigures figures = figures_of(std::move(lanes));
    Reply reply = figures.lanes.front().reply;
    reply.samples_ns = figures.slowest_ns;
    reply.stop = stop;
    record_.cases[i].together = std::move(figures);
    take_reply(0, i, std::move(reply));
  } catch (const std::runtime_error& error) {
    fail(std::nullopt, i, {Failure::Kind::disturbed, error.what()});
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

std::optional<std::string> Run::why_not_run(std::size_t i) {
  if (watch_.must_stop()) return fmt::format("not run ({})", watch_.short_reason());
  if (!start_.kernel_error.empty()) return start_.kernel_error;
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
    if (baseline_) row.over_baseline = baseline_->ratio(reported_, row);
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
  if (!options_.kernel.empty()) require_kernels(start_, record_);
  if (!watch_.must_stop()) dealer.greet_all(0, std::exchange(greeting_, std::nullopt));
  if (record_.device) require_kernels(start_, record_);
  mark_shared_devices(record_);
}

/// Before the first output: a document that is continued in place is as it was until then.
void Run::use_former_runs(Dealer& dealer) {
  const bool fresh = options_.fresh_inputs != FreshInputs::off;
  if (start_.resume != nullptr) {
    require_resumable(*start_.resume, record_, options_.launch, fresh, start_.kernel_error);
    for (const std::size_t i : take_over(*start_.resume, record_)) dealer.skip(i);
    say(fmt::format("{} of {} cases are taken over from `{}`", resumed_cases(record_),
                    record_.cases.size(), to_one_line(start_.resume->file.path)));
  }
  if (start_.baseline == nullptr || !record_.device) return;
  baseline_.emplace(*start_.baseline, record_, fresh);
  baseline_->require_comparable(options_.force);
}

ExitCode Run::execute() {
  std::vector<Lane*> lanes;
  for (const Post& post : posts_) lanes.push_back(post.place.lane);
  began_.resize(record_.cases.size());
  Dealer dealer(lanes, *this, watch_, record_.cases.size());
  if (start_.kernel_error.empty()) find_kernels(dealer);
  use_former_runs(dealer);
  for (const auto& reporter : reporters_) reporter->prepare(record_);
  for (const auto& reporter : reporters_) reporter->begin(record_);
  begun_ = true;
  if (options_.together) {
    Together(lanes, *this, watch_, record_.cases.size()).run();
  } else {
    dealer.run();
  }
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
      say(to_one_line(error.what()));
      // A failed case is the stronger word on a run whose export is lost.
      const bool told = error.code() == ExitCode::usage && record_.exit_code != ExitCode::ok;
      if (!told) record_.exit_code = error.code();
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
