// The repeats of a trace: the order of flush, tags, events and waits. Must not know how a tracer
// works, which kernel names are wanted, or how figures are shown.
#include "worker/trace_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <span>

#include "core/chrome_trace.h"
#include "core/error.h"
#include "core/kernel_names.h"
#include "core/stats.h"
#include "worker/blame.h"
#include "worker/flush.h"

namespace kbench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int k_windows = 2;
constexpr double k_slowness = 10;  // a repeat may take so many times its first call

class TracedRun {
 public:
  /// `tracer` may be null: the same repeats without one.
  TracedRun(CaseRun& run, Tracer* tracer)
      : run_(run),
        device_(run.device()),
        tracer_(tracer),
        stopwatch_(device_.make_stopwatch()),
        flush_(run.job().flush),
        calls_(flush_ == Flush::once ? run.calls() : run.calls().first(1)) {}

  /// The first call of all, checked: it loads modules and fills caches of the plug-in's.
  void first_call();
  /// All windows; the last one stays in `trace`.
  void windows(std::int64_t repeats, Trace& trace);
  /// One repeat, looked at as the windows' are.
  TracedRepeat repeat(std::int64_t number, Pass pass);
  std::int64_t calls_per_repeat() const { return static_cast<std::int64_t>(calls_.size()); }

 private:
  bool call_all(TracedRepeat& repeat);
  std::int64_t now_ns() { return tracer_ == nullptr ? 0 : tracer_->now_ns(); }

  CaseRun& run_;
  Device& device_;
  Tracer* tracer_;
  std::unique_ptr<Stopwatch> stopwatch_;
  Flush flush_;
  std::span<const kbench_call> calls_;
  std::uint64_t next_tag_ = k_first_repeat_tag;
  double first_call_s_ = 0;
};

void TracedRun::first_call() {
  KernelSession& session = run_.session();
  run_.begin({Stage::checked, 1});
  run_.progress().plugin_code("checked pass", 1, run_.call_limit_s(), k_call_name);
  session.expect_calls();
  const Clock::time_point begin = Clock::now();
  bool succeeded = true;
  blame_kernel(run_, [&] {
    succeeded = session.enqueue(run_.calls().front());
    if (!succeeded) return;
    device_.check_launch();
    device_.synchronize();
  });
  session.calls_done();
  if (!succeeded) session.throw_failure(k_call_name);
  first_call_s_ = std::chrono::duration<double>(Clock::now() - begin).count();
  run_.reply().first_call_ms = 1e3 * first_call_s_;
  run_.progress().own_code("check", 1);
  run_.inspect();
  run_.check_output(0);
}

bool TracedRun::call_all(TracedRepeat& repeat) {
  KernelSession& session = run_.session();
  bool succeeded = true;
  repeat.range_begin_ns = now_ns();
  device_.range_push(k_call_name);
  stopwatch_->start();
  {
    const Tagged tagged(tracer_, repeat.tag);
    for (std::size_t j = 0; j < calls_.size() && succeeded; ++j) {
      succeeded = session.enqueue(calls_[j]);
    }
  }
  stopwatch_->stop();
  device_.range_pop();
  repeat.range_end_ns = now_ns();
  return succeeded;
}

TracedRepeat TracedRun::repeat(std::int64_t number, Pass pass) {
  KernelSession& session = run_.session();
  run_.begin(pass);
  const double limit_s =
      run_.call_limit_s() + k_slowness * first_call_s_ * static_cast<double>(calls_per_repeat());
  run_.progress().plugin_code("trace", number, limit_s, k_call_name);
  session.expect_calls();
  // The preparations must be over before the window opens; from the flush on there is no wait.
  device_.synchronize();
  TracedRepeat repeat;
  repeat.number = number;
  repeat.tag = next_tag_++;
  repeat.begin_ns = now_ns();
  {
    const Tagged tagged(tracer_, k_flush_tag);
    flush_cache(device_, flush_);
  }
  bool succeeded = true;
  blame_kernel(run_, [&] {
    succeeded = call_all(repeat);
    if (!succeeded) return;
    device_.check_launch();
    device_.synchronize();
  });
  session.calls_done();
  if (!succeeded) session.throw_failure(k_call_name);
  repeat.end_ns = now_ns();
  repeat.event_ns = stopwatch_->elapsed_ns();
  return repeat;
}

void TracedRun::windows(std::int64_t repeats, Trace& trace) {
  std::int64_t pass = 0;
  for (int window = 0; window < k_windows; ++window) {
    trace = Trace();
    trace.calls_per_repeat = calls_per_repeat();
    for (std::int64_t number = 0; number <= repeats; ++number) {
      trace.repeats.push_back(repeat(number, {Stage::timed, ++pass}));
      trace.repeats.back().active = window + 1 == k_windows && number > 0;
      run_.progress().own_code("check", number);
      run_.inspect();
    }
    if (tracer_ != nullptr) tracer_->collect(trace);
  }
  run_.check_output(0);
}

/// Event times per call of the active repeats.
std::vector<double> event_times(const Trace& trace) {
  std::vector<double> times_ns;
  for (const TracedRepeat& repeat : trace.repeats) {
    if (repeat.active) {
      times_ns.push_back(repeat.event_ns / static_cast<double>(trace.calls_per_repeat));
    }
  }
  return times_ns;
}

void write_file(const std::string& path, const Trace& trace, const std::string& title) {
  std::ofstream file(path, std::ios::trunc);
  if (file) write_chrome_trace(file, trace, title);
  file.close();
  if (!file) {
    throw Error(ExitCode::case_failed,
                fmt::format("cannot write `{}` (no such folder, no right to, or no room); give "
                            "`--chrome-trace` another path",
                            path));
  }
}

void answer(const Trace& traced, const Trace& untraced, const Job& job, Reply& reply) {
  TraceFigures figures = summarize_trace(traced);
  figures.untraced_event_ns = event_times(untraced);
  const double with_ns = summarize(event_times(traced)).median;
  const double without_ns = summarize(figures.untraced_event_ns).median;
  figures.overhead = without_ns > 0 ? with_ns / without_ns - 1 : 0;
  // Before the filters: a wrong filter must not cost the file.
  if (!job.trace->chrome_trace.empty()) {
    write_file(job.trace->chrome_trace, traced, job.spec.spec);
    figures.chrome_trace = job.trace->chrome_trace;
  }
  select_kernels(figures, job.trace->names, job.trace->multiple);
  reply.trace = std::move(figures);
}

void run_passes(Device& device, const Problem& problem, const kbench_kernel& kernel, const Job& job,
                const Progress& progress, Reply& reply, const OpenTracer& open) {
  Trace untraced, traced;
  {
    CaseRun run(device, problem, kernel, job, progress, reply);
    run.set_up();
    TracedRun passes(run, nullptr);
    reply.calls_per_repeat = passes.calls_per_repeat();
    passes.first_call();
    passes.windows(job.exact_repeats, untraced);
    run.finish();
  }
  // Set up anew with the tracer there: graphs that were made before it would be recorded wrongly.
  Reply second;
  const std::unique_ptr<Tracer> tracer = open();
  CaseRun run(device, problem, kernel, job, progress, second);
  run.set_up();
  TracedRun passes(run, tracer.get());
  passes.first_call();
  passes.windows(job.exact_repeats, traced);
  answer(traced, untraced, job, reply);
}

}  // namespace

void run_trace_job(Device& device, const Problem& problem, const kbench_kernel& kernel,
                   const Job& job, const EventSink& sink, Reply& reply, const OpenTracer& open) {
  KBENCH_ASSERT(job.trace && job.exact_repeats > 0 && !job.seeds.empty());
  if (device.info().kind == DeviceKind::host) {
    throw Error(
        ExitCode::case_failed,
        "nothing to trace on the host (CUPTI records what a CUDA device does); use `--device "
        "cuda`");
  }
  // Before the memory is counted: the flush buffer is part of what is taken.
  flush_cache(device, job.flush);
  const Progress progress(job.token, sink,
                          own_code_limit_s(device.info().kind, job.spec, job.seeds.size()));
  run_passes(device, problem, kernel, job, progress, reply, open);
}

IdleTime trace_idle_time(CaseRun& run, std::int64_t repeat, const OpenTracer& open) {
  const std::unique_ptr<Tracer> tracer = open();
  TracedRun passes(run, tracer.get());
  Trace trace;
  trace.calls_per_repeat = passes.calls_per_repeat();
  trace.repeats.push_back(passes.repeat(repeat, {Stage::timed, repeat}));
  trace.repeats.back().active = true;
  tracer->collect(trace);
  return idle_time(trace);
}

}  // namespace kbench
