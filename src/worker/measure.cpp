// The only loops that call a kernel. The order of device calls here is the evaluator contract's:
// what profilers and clocks see depends on it. Knows nothing of plug-in files, gates or output.
#include "worker/measure.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/stats.h"
#include "worker/audit_times.h"
#include "worker/audits.h"
#include "worker/blame.h"
#include "worker/case_run.h"
#include "worker/common_start.h"
#include "worker/flush.h"
#include "worker/launch_hold.h"
#include "worker/memory_watch.h"
#include "worker/timed_window.h"
#include "worker/trace_run.h"

namespace kbench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* k_range = k_call_name;
constexpr double k_slowness = 10;  // a timed call may take so many times its checked pass

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Waits for the calls made so far; a launch that failed and work that failed show up here.
void complete_calls(Device& device) {
  device.check_launch();
  device.synchronize();
}

// In an audit repeat the wait for the device begins so much later than the stream's end: work left
// elsewhere is over by then, and what the wait takes is its own price.
constexpr double k_settle_ns = 2e6;

// Drawing planted matrices takes as long as many repeats do, so few audits have new ones. The
// machine may have been busy during one of them, hardly during so many.
constexpr std::int64_t k_audits_anew = 8;
constexpr int k_confirmations = 12;

class Loop {
 public:
  Loop(CaseRun& run, const TurnSource& turns, const StartSource& starts)
      : run_(run),
        turns_(turns),
        starts_(starts),
        device_(run.device()),
        window_(run),
        audit_times_(device_.info().kind) {}

  void check();
  void measure();
  void profile();

 private:
  /// One call by itself, waited for. Returns its wall time in seconds.
  double call_alone(std::int64_t j, const std::string& phase);
  /// One call on every input inside the clock, and inside the capture range where asked for; with
  /// `hold` nothing of it starts before all of it is enqueued.
  /// Returns nanoseconds per call.
  double call_all(const std::string& phase, Pass pass, bool range, LaunchHold* hold = nullptr);
  /// The same at a moment that all workers of the job are given. Nothing when none comes.
  std::optional<double> call_together(Pass pass, CommonStart& start);
  /// All calls of a prepared pass inside the clock, between `before` and `behind`.
  double time_calls(Pass pass, bool range, const std::function<void()>& before,
                    const std::function<void()>& behind);
  /// One call in the capture range, waited for inside it.
  bool profiled_call(bool range);
  void warm_up(const StopLimits& limits);
  void checked_pass(Stage stage);
  void timed_repeats();
  /// One more repeat, traced and untimed, for the share of the event time in which nothing ran.
  void idle_repeat();
  void queued_repeats();
  /// Guards, late work, inputs and every output of the repeat just made.
  void judge(Pass pass);
  /// Takes a reading of the memory, when nothing runs.
  void watch_memory();
  /// False when the job is paced and the runner wants no more repeats.
  bool has_turn() const;
  /// The next audit repeat: no sample, and to the kernel like any other. With `anew` it is one with
  /// inputs of its own that shows each during its call alone.
  void audit(bool anew = false);
  /// More of these, as long as what they took speaks against the timed repeats.
  void compare_audits();
  std::int64_t count() const { return static_cast<std::int64_t>(run_.calls().size()); }
  double repeat_limit_s() const {
    return run_.call_limit_s() + k_slowness * static_cast<double>(count()) * slowest_s_;
  }

  CaseRun& run_;
  const TurnSource& turns_;
  const StartSource& starts_;
  Device& device_;
  TimedWindow window_;
  MemoryWatch memory_;
  AuditTimes audit_times_;
  std::int64_t calls_made_ = 0;
  double slowest_s_ = 0;
  double rest_ns_ = 0;  // the wait for the device behind that for the stream
  bool called_ = false;
};

double Loop::call_alone(std::int64_t j, const std::string& phase) {
  KernelSession& session = run_.session();
  run_.progress().plugin_code(phase, j + 1, run_.call_limit_s(), k_range);
  session.expect_calls();
  const Clock::time_point begin = Clock::now();
  const bool succeeded = session.enqueue(run_.calls()[static_cast<std::size_t>(j)]);
  session.calls_done();
  if (!succeeded) session.throw_failure(k_range);
  blame_kernel(run_, [&] { complete_calls(device_); });
  const double wall_s = seconds_since(begin);
  if (!called_) run_.reply().first_call_ms = 1e3 * wall_s;
  called_ = true;
  slowest_s_ = std::max(slowest_s_, wall_s);
  return wall_s;
}

double Loop::call_all(const std::string& phase, Pass pass, bool range, LaunchHold* hold) {
  run_.begin(pass);
  const double limit_s = repeat_limit_s() + (hold != nullptr ? hold->limit_s() : 0);
  run_.progress().plugin_code(phase, pass.number, limit_s, k_range);
  run_.session().expect_calls();
  // From the flush to the end of the range: no wait, and nothing on the device but the kernel's
  // own. Directly behind it the outputs are copied on the same stream: work that is not done by
  // then has not been timed, and leaves NaN in the copy, which is what is judged.
  flush_cache(device_, run_.job().flush);
  if (hold == nullptr)
    return time_calls(
        pass, range, [] {}, [] {});
  return time_calls(
      pass, range, [hold] { hold->place(); }, [hold] { hold->release(); });
}

/// The one wait between flush and clock is for the others: what the device does meanwhile is
/// nothing, so its cache stays as the flush has left it.
std::optional<double> Loop::call_together(Pass pass, CommonStart& start) {
  run_.begin(pass);
  run_.progress().own_code("start", pass.number);
  flush_cache(device_, run_.job().flush);
  device_.synchronize();
  const std::optional<std::int64_t> moment = starts_();
  if (!moment) return std::nullopt;
  run_.progress().plugin_code("repeat", pass.number, repeat_limit_s() + CommonStart::limit_s(),
                              k_range);
  run_.session().expect_calls();
  StartBracket& begun = run_.reply().starts.emplace_back();
  return time_calls(
      pass, run_.job().range, [&] { start.place(*moment); }, [&] { begun = start.finish(); });
}

double Loop::time_calls(Pass pass, bool range, const std::function<void()>& before,
                        const std::function<void()>& behind) {
  KernelSession& session = run_.session();
  bool succeeded = true;
  blame_kernel(run_, [&] {
    before();
    succeeded = window_.record(pass, range);
    calls_made_ += calls_of(run_.job(), pass);
    if (succeeded) run_.take_snapshot();
    behind();
    if (!succeeded) return;
    device_.check_launch();
    rest_ns_ = device_.drain(run_.is_audit() ? k_settle_ns : 0);
  });
  session.calls_done();
  if (!succeeded) session.throw_failure(k_range);
  return window_.elapsed_ns() / static_cast<double>(count());
}

void Loop::warm_up(const StopLimits& limits) {
  const Clock::time_point begin = Clock::now();
  StopRule rule(limits);
  StopReason stop = StopReason::none;
  for (std::int64_t repeat = 1; stop == StopReason::none; ++repeat) {
    double sample_ns = 0;
    if (repeat == 1) {
      // One by one: each call has its own limit until it is known how long one takes.
      run_.begin({Stage::warm_up, repeat});
      for (std::int64_t j = 0; j < count(); ++j) {
        sample_ns += 1e9 * call_alone(j, "warm-up");
        if (j > 0) continue;
        // A kernel that is wrong from the start is not warmed up for minutes before that is said.
        run_.progress().own_code("check", 1);
        run_.check_output(0);
      }
      sample_ns /= static_cast<double>(count());
    } else {
      sample_ns = call_all("warm-up", {Stage::warm_up, repeat}, false);
    }
    stop = rule.add(sample_ns, seconds_since(begin));
    run_.reply().warm_up_repeats = repeat;
  }
}

void Loop::checked_pass(Stage stage) {
  run_.begin({stage, 1});
  for (std::int64_t j = 0; j < count(); ++j) {
    call_alone(j, "checked pass");
    run_.progress().own_code("check", j + 1);
    run_.check_output(j);
  }
  run_.inspect();
}

void Loop::judge(Pass pass) {
  run_.progress().own_code("check", pass.number);
  run_.inspect(rest_ns_, window_.elapsed_ns());
  const std::int64_t made = calls_of(run_.job(), pass);
  for (std::int64_t j = 0; j < made; ++j) run_.check_output(j);
  for (std::int64_t j = made; j < count(); ++j) run_.require_untouched(j, made);
  // A device has been waited for. A thread of the host has not: it may have gone on until now.
  if (device_.info().kind == DeviceKind::host) run_.require_finished();
}

void Loop::audit(bool anew) {
  const std::int64_t number = ++run_.reply().audit_repeats;
  Pass pass{anew ? Stage::audit : audit_stage(run_.job(), number), number};
  pass.anew = pass.stage == Stage::audit &&
              (anew || audit_times_.count() == 0 || number % k_audits_anew == 0);
  const double call_ns = call_all("audit", pass, false);
  judge(pass);
  if (!pass.anew || run_.reply().fresh_inputs != "on") return;
  audit_times_.add(call_ns);
  if (audit_times_.knows_copies()) return;
  window_.record_copies();
  device_.synchronize();
  audit_times_.set_copies(window_.elapsed_ns() / static_cast<double>(count()));
}

void Loop::compare_audits() {
  Reply& reply = run_.reply();
  if (reply.samples_ns.empty()) return;
  const double timed_ns = summarize(reply.samples_ns).mean;
  for (int more = 0; more < k_confirmations && audit_times_.tells_apart(timed_ns); ++more) {
    audit(true);
  }
  reply.audit_call_ns = audit_times_.call_ns();
  audit_times_.require_same_work(timed_ns);
}

void Loop::watch_memory() {
  memory_.add(calls_made_, device_.used_bytes());
  run_.reply().leaked_bytes_per_call = memory_.leaked_bytes_per_call();
}

bool Loop::has_turn() const {
  const std::vector<double>& samples = run_.reply().samples_ns;
  return !run_.job().paced || turns_(samples.empty() ? 0 : samples.back());
}

void Loop::timed_repeats() {
  const Job& job = run_.job();
  Reply& reply = run_.reply();
  reply.clocks.before = device_.clock_state(&reply.clocks.absent);
  const Clock::time_point begin = Clock::now();
  StopRule rule(job.limits);
  std::optional<CommonStart> common;
  if (job.together) common.emplace(device_, job.may_hold);
  for (std::int64_t repeat = 1; reply.stop == StopReason::none; ++repeat) {
    if (!has_turn()) {
      reply.stop = StopReason::repeats;
      break;
    }
    while (job.fresh_inputs && audit_place(job, reply.audit_repeats + 1) <= repeat) audit();
    const Pass pass{Stage::timed, repeat};
    const std::optional<double> sample =
        common ? call_together(pass, *common) : call_all("repeat", pass, job.range);
    if (!sample) {
      reply.stop = StopReason::repeats;
      break;
    }
    const double sample_ns = *sample;
    judge(pass);
    if (MemoryWatch::wants(repeat)) watch_memory();
    reply.samples_ns.push_back(sample_ns);
    const Summary summary = summarize(reply.samples_ns);
    run_.progress().own_code("repeat", repeat, summary.mean, summary.err);
    if (job.paced) continue;
    if (job.exact_repeats == 0) {
      reply.stop = rule.add(sample_ns, seconds_since(begin));
    } else if (repeat == job.exact_repeats) {
      reply.stop = StopReason::repeats;
    }
  }
  reply.clocks.after = device_.clock_state(&reply.clocks.absent);
  while (job.fresh_inputs && reply.audit_repeats < k_least_audits) audit();
  compare_audits();
  watch_memory();
  // Of a paced job that never had its turn there is no time.
  if (!reply.samples_ns.empty()) run_.judge_time();
}

// After the public repeats and in addition to them, by a stop rule of its own: it is quick, and the
// figure is no ranking.
void Loop::queued_repeats() {
  constexpr StopLimits k_limits{50, 1e9};
  const Job& job = run_.job();
  QueuedFigures& figures = run_.reply().queued.emplace();
  LaunchHold hold(device_, run_.kernel_waits(), job.hold_limit_s);
  const Clock::time_point begin = Clock::now();
  StopRule rule(k_limits);
  bool done = hold.kind() == HoldKind::none;
  for (std::int64_t repeat = 1; !done; ++repeat) {
    const Pass pass{Stage::queued, repeat};
    const double sample_ns = call_all("queued repeat", pass, false, &hold);
    judge(pass);
    if (!hold.held()) continue;
    figures.samples_ns.push_back(sample_ns);
    const auto taken = static_cast<std::int64_t>(figures.samples_ns.size());
    done = job.exact_repeats > 0 ? taken == job.exact_repeats
                                 : rule.add(sample_ns, seconds_since(begin)) != StopReason::none;
  }
  figures.held_by = hold.kind();
  figures.reason = hold.reason();
  figures.delay_ns = hold.delay_ns();
}

void Loop::measure() {
  run_.reply().calls_per_repeat = count();
  if (run_.job().warm_up) warm_up(*run_.job().warm_up);
  checked_pass(Stage::checked);
  timed_repeats();
  if (run_.job().launch == Launch::queued) queued_repeats();
  if (run_.job().idle_time) idle_repeat();
}

void Loop::idle_repeat() {
  Reply& reply = run_.reply();
  const auto next = static_cast<std::int64_t>(reply.samples_ns.size()) + 1;
  try {
    reply.idle = trace_idle_time(run_, next, open_cupti_tracer);
  } catch (const DeviceError&) {
    throw;
  } catch (const Error& error) {
    // The case has passed: not to know this is no failure of it.
    reply.idle_unknown = error.what();
  }
}

void Loop::check() { checked_pass(Stage::published); }

void Loop::profile() {
  KernelSession& session = run_.session();
  const bool range = run_.job().range;
  run_.begin({Stage::published, 1});
  run_.progress().plugin_code("profile", 1, run_.call_limit_s(), k_range);
  session.expect_calls();
  device_.synchronize();
  bool succeeded = true;
  blame_kernel(run_, [&] { succeeded = profiled_call(range); });
  session.calls_done();
  if (!succeeded) session.throw_failure(k_range);
  run_.progress().own_code("check", 1);
  run_.inspect();
  run_.check_output(0);
  run_.reply().calls_per_repeat = 1;
}

bool Loop::profiled_call(bool range) {
  if (range) {
    device_.profiler_start();
    device_.range_push(k_range);
  }
  const Clock::time_point begin = Clock::now();
  const bool succeeded = run_.session().enqueue(run_.calls().front());
  // A profiler collects what was launched before the pop; so the range ends with the work.
  std::optional<DeviceError> failure;
  try {
    if (succeeded) complete_calls(device_);
  } catch (const DeviceError& error) {
    if (error.sticky()) throw;
    failure = error;
  }
  run_.reply().first_call_ms = 1e3 * seconds_since(begin);
  if (range) {
    device_.range_pop();
    device_.profiler_stop();
  }
  if (failure) throw DeviceError(*failure);
  return succeeded;
}

}  // namespace

void run_kernel_job(Device& device, const Problem& problem, const kbench_kernel& kernel,
                    const Job& job, const EventSink& sink, Reply& reply, const TurnSource& turns,
                    const StartSource& starts) {
  KBENCH_ASSERT(!job.seeds.empty() && (!job.paced || turns) && (!job.together || starts));
  const Progress progress(job.token, sink,
                          own_code_limit_s(device.info().kind, job.spec, job.seeds.size()));
  CaseRun run(device, problem, kernel, job, progress, reply);
  try {
    run.set_up();
    Loop loop(run, turns, starts);
    if (job.kind == JobKind::check) loop.check();
    if (job.kind == JobKind::measure) loop.measure();
    if (job.kind == JobKind::profile) loop.profile();
    run.finish();
  } catch (const DeviceError& error) {
    if (error.sticky()) run.abandon();
    throw;
  }
}

}  // namespace kbench
