// The only loops that call a kernel. The order of device calls here is the evaluator contract's:
// what profilers and clocks see depends on it. Knows nothing of plug-in files, gates or output.
#include "worker/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/error.h"
#include "core/stats.h"
#include "worker/case_run.h"

namespace kbench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* k_range = "custom_kernel";
constexpr double k_slowness = 10;  // a timed call may take so many times its checked pass

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Waits for the calls made so far; a launch that failed and work that failed show up here.
void complete_calls(Device& device) {
  device.check_launch();
  device.synchronize();
}

/// Runs a stretch with nothing but custom_kernel's work on the device: a device failure is its.
template <class Function>
void blame_kernel(Function function) {
  try {
    function();
  } catch (const DeviceError& error) {
    throw DeviceError(fmt::format("custom_kernel failed on the device ({})", error.what()),
                      error.sticky());
  }
}

class Loop {
 public:
  explicit Loop(CaseRun& run)
      : run_(run), device_(run.device()), stopwatch_(device_.make_stopwatch()) {}

  void check();
  void measure();
  void profile();

 private:
  /// One call by itself, waited for. Returns its wall time in seconds.
  double call_alone(std::int64_t j, const std::string& phase);
  /// One call on every input inside the clock, and inside the capture range where asked for.
  /// Returns nanoseconds per call.
  double call_all(const std::string& phase, std::int64_t repeat, bool range);
  /// What lies between flush and wait. False when a call failed; the range is closed all the same.
  bool timed_window(bool range);
  /// One call in the capture range, waited for inside it.
  bool profiled_call(bool range);
  void warm_up(const StopLimits& limits);
  void checked_pass();
  void timed_repeats();
  std::int64_t count() const { return static_cast<std::int64_t>(run_.calls().size()); }
  double repeat_limit_s() const {
    return run_.call_limit_s() + k_slowness * static_cast<double>(count()) * slowest_s_;
  }

  CaseRun& run_;
  Device& device_;
  std::unique_ptr<Stopwatch> stopwatch_;
  double slowest_s_ = 0;
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
  blame_kernel([&] { complete_calls(device_); });
  const double wall_s = seconds_since(begin);
  if (!called_) run_.reply().first_call_ms = 1e3 * wall_s;
  called_ = true;
  slowest_s_ = std::max(slowest_s_, wall_s);
  return wall_s;
}

double Loop::call_all(const std::string& phase, std::int64_t repeat, bool range) {
  KernelSession& session = run_.session();
  run_.begin_repeat();
  run_.progress().plugin_code(phase, repeat, repeat_limit_s(), k_range);
  session.expect_calls();
  // From the flush to the end of the range: no wait, and nothing on the device but the kernel's
  // own.
  device_.flush_cache();
  bool succeeded = true;
  blame_kernel([&] {
    succeeded = timed_window(range);
    if (succeeded) complete_calls(device_);
  });
  session.calls_done();
  if (!succeeded) session.throw_failure(k_range);
  return stopwatch_->elapsed_ns() / static_cast<double>(count());
}

bool Loop::timed_window(bool range) {
  KernelSession& session = run_.session();
  const std::span<const kbench_call> calls = run_.calls();
  bool succeeded = true;
  if (range) {
    device_.profiler_start();
    device_.range_push(k_range);
  }
  stopwatch_->start();
  for (const kbench_call& call : calls) {
    succeeded = session.enqueue(call);
    if (!succeeded) break;
  }
  stopwatch_->stop();
  if (range) {
    device_.range_pop();
    device_.profiler_stop();
  }
  return succeeded;
}

void Loop::warm_up(const StopLimits& limits) {
  const Clock::time_point begin = Clock::now();
  StopRule rule(limits);
  StopReason stop = StopReason::none;
  for (std::int64_t repeat = 1; stop == StopReason::none; ++repeat) {
    double sample_ns = 0;
    if (repeat == 1) {
      // One by one: each call has its own limit until it is known how long one takes.
      run_.begin_repeat();
      for (std::int64_t j = 0; j < count(); ++j) sample_ns += 1e9 * call_alone(j, "warm-up");
      sample_ns /= static_cast<double>(count());
    } else {
      sample_ns = call_all("warm-up", repeat, false);
    }
    stop = rule.add(sample_ns, seconds_since(begin));
    run_.reply().warm_up_repeats = repeat;
  }
}

void Loop::checked_pass() {
  run_.begin_repeat();
  for (std::int64_t j = 0; j < count(); ++j) {
    call_alone(j, "checked pass");
    run_.progress().own_code("check", j + 1);
    run_.check_output(j, 0);
  }
  run_.inspect();
}

void Loop::timed_repeats() {
  const Job& job = run_.job();
  Reply& reply = run_.reply();
  const Clock::time_point begin = Clock::now();
  StopRule rule(job.limits);
  for (std::int64_t repeat = 1; reply.stop == StopReason::none; ++repeat) {
    const double sample_ns = call_all("repeat", repeat, job.range);
    run_.progress().own_code("check", repeat);
    run_.inspect();
    for (std::int64_t j = 0; j < count(); ++j) run_.check_output(j, repeat);
    reply.samples_ns.push_back(sample_ns);
    const Summary summary = summarize(reply.samples_ns);
    run_.progress().own_code("repeat", repeat, summary.mean, summary.err);
    if (job.exact_repeats == 0) {
      reply.stop = rule.add(sample_ns, seconds_since(begin));
    } else if (repeat == job.exact_repeats) {
      reply.stop = StopReason::repeats;
    }
  }
}

void Loop::measure() {
  run_.reply().calls_per_repeat = count();
  if (run_.job().warm_up) warm_up(*run_.job().warm_up);
  checked_pass();
  timed_repeats();
}

void Loop::check() { checked_pass(); }

void Loop::profile() {
  KernelSession& session = run_.session();
  const bool range = run_.job().range;
  run_.begin_repeat();
  run_.progress().plugin_code("profile", 1, run_.call_limit_s(), k_range);
  session.expect_calls();
  device_.synchronize();
  bool succeeded = true;
  blame_kernel([&] { succeeded = profiled_call(range); });
  session.calls_done();
  if (!succeeded) session.throw_failure(k_range);
  run_.progress().own_code("check", 1);
  run_.inspect();
  run_.check_output(0, 0);
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
                    const Job& job, const EventSink& sink, Reply& reply) {
  KBENCH_ASSERT(!job.seeds.empty());
  const Progress progress(job.token, sink);
  CaseRun run(device, problem, kernel, job, progress, reply);
  try {
    run.set_up();
    Loop loop(run);
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
