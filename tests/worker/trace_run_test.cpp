// The repeats of a trace against fakes: the order of waits, tags, flush and events is what makes
// the records mean something.
#include "worker/trace_run.h"

#include <fstream>
#include <sstream>

#include "bench.h"
#include "catch.h"
#include "jobs.h"

namespace kbench::test {
namespace {

/// A tracer that writes into the device's diary and makes one record a call, of `kernel_ns`.
class FakeTracer : public Tracer {
 public:
  FakeTracer(Diary& diary, const FakeKernel& kernel, std::int64_t dropped)
      : diary_(diary), kernel_(kernel), dropped_(dropped) {
    diary_.push_back("tracer");
  }
  ~FakeTracer() override { diary_.push_back("no tracer"); }

  std::int64_t now_ns() override { return clock_ns_ += 1000; }
  void push(std::uint64_t tag) override {
    diary_.push_back(tag == k_flush_tag ? "tag flush" : "tag call");
    tag_ = tag;
    calls_before_ = kernel_.calls;
  }
  void pop() override {
    diary_.push_back("untag");
    for (std::int64_t k = calls_before_; k < kernel_.calls; ++k) {
      Activity activity;
      activity.begin_ns = clock_ns_ += 100;
      activity.end_ns = clock_ns_ += 200;
      activity.tag = tag_;
      activities_.push_back(activity);
    }
  }
  void collect(Trace& trace) override {
    diary_.push_back("collect");
    trace.names = {"fake_kernel(int)"};
    trace.activities = std::exchange(activities_, {});
    trace.dropped = dropped_;
  }

 private:
  Diary& diary_;
  const FakeKernel& kernel_;
  std::int64_t dropped_;
  std::int64_t clock_ns_ = 1'000'000;
  std::int64_t calls_before_ = 0;
  std::uint64_t tag_ = 0;
  std::vector<Activity> activities_;
};

struct TraceBench : Bench {
  std::int64_t dropped = 0;
  std::string no_tracer;

  explicit TraceBench(Flush flush = Flush::clean) {
    job.kind = JobKind::trace;
    job.flush = flush;
    job.exact_repeats = 3;
    job.trace = TraceRequest();
    device.sample_ns = 5000;
  }

  void run() {
    current_kernel = &kernel;
    const OpenTracer open = [this]() -> std::unique_ptr<Tracer> {
      if (!no_tracer.empty()) throw Error(ExitCode::case_failed, no_tracer);
      return std::make_unique<FakeTracer>(device.diary, kernel, dropped);
    };
    const EventSink sink = [this](const Event& event) {
      device.diary.push_back("event " + event.phase);
    };
    try {
      run_trace_job(device, problem, table, job, sink, reply, open);
    } catch (const Error& failure) {
      error = failure.what();
    }
  }
};

TEST_CASE("a traced repeat waits, flushes under its own tag, then calls under the repeat's") {
  TraceBench bench;
  bench.run();
  REQUIRE(bench.error.empty());
  const auto tracer = std::find(bench.device.diary.begin(), bench.device.diary.end(), "tracer");
  const auto flush = std::find(tracer, bench.device.diary.end(), "tag flush");
  const Diary window(flush - 1, std::find(flush, bench.device.diary.end(), "synchronize") + 1);
  const Diary expected = {
      "synchronize",  "tag flush",  "flush_cache",   "clean_cache", "untag", "push custom_kernel",
      "start",        "tag call",   "custom_kernel", "untag",       "stop",  "pop",
      "check_launch", "synchronize"};
  CHECK(window == expected);
}

TEST_CASE("each kind of flush makes its calls, and only public has all inputs in a repeat") {
  struct Row {
    Flush flush;
    std::int64_t flushes, cleanings, calls;  // of one repeat
  };
  const std::vector<Row> rows = {{Flush::once, 1, 0, 2},
                                 {Flush::cold, 1, 0, 1},
                                 {Flush::clean, 1, 1, 1},
                                 {Flush::none, 0, 0, 1}};
  for (const Row& row : rows) {
    CAPTURE(to_string(row.flush));
    TraceBench bench(row.flush);
    bench.run();
    REQUIRE(bench.error.empty());
    // Two passes of two windows of a warm-up and three repeats; the buffer's first use comes on
    // top.
    constexpr std::int64_t k_repeats = 2 * 2 * 4;
    CHECK(bench.count("flush_cache") == row.flushes * (k_repeats + 1));
    CHECK(bench.count("clean_cache") == row.cleanings * (k_repeats + 1));
    CHECK(bench.count("custom_kernel") == row.calls * k_repeats + 2);  // and the checked calls
    CHECK(bench.reply.trace->calls_per_repeat == row.calls);
  }
}

TEST_CASE("the event times come from a pass that is over before the tracer begins") {
  TraceBench bench;
  bench.run();
  REQUIRE(bench.error.empty());
  const Diary& diary = bench.device.diary;
  const auto tracer = std::find(diary.begin(), diary.end(), "tracer");
  CHECK(std::count(diary.begin(), tracer, "destroy") == 1);
  CHECK(std::count(diary.begin(), tracer, "tag call") == 0);
  CHECK(std::count(diary.begin(), tracer, "custom_kernel") == 9);
  CHECK(std::count(tracer, diary.end(), "create") == 1);
  const TraceFigures& trace = *bench.reply.trace;
  CHECK(trace.untraced_event_ns == std::vector<double>{5000, 5000, 5000});
  CHECK(trace.overhead == 0);
}

TEST_CASE("only the repeats of the second window count, and no warm-up") {
  TraceBench bench;
  bench.run();
  REQUIRE(bench.error.empty());
  const TraceFigures& trace = *bench.reply.trace;
  CHECK(bench.count("collect") == 2);
  REQUIRE(trace.repeats.size() == 3);
  CHECK(trace.repeats.front().span_ns == 200);
  CHECK(trace.repeats.front().event_ns == 5000);
  REQUIRE(trace.kernels.size() == 1);
  CHECK(trace.kernels.front().name == "fake_kernel(int)");
  CHECK(trace.kernels.front().launches == 3);
}

TEST_CASE("what makes a trace impossible or invalid fails the case in words") {
  struct Row {
    const char* what;
    void (*prepare)(TraceBench&);
    std::string message;
  };
  const std::vector<Row> rows = {
      {"host", [](TraceBench& b) { b.device.set_kind(DeviceKind::host); },
       "nothing to trace on the host (CUPTI records what a CUDA device does); use `--device cuda`"},
      {"no tracer", [](TraceBench& b) { b.no_tracer = "no tracing (held)"; }, "no tracing (held)"},
      {"dropped", [](TraceBench& b) { b.dropped = 2; },
       "invalid trace (CUPTI dropped 2 records); take fewer repeats with `--repeat N` or a smaller "
       "case"},
      {"name", [](TraceBench& b) { b.job.trace->names = {"absent"}; },
       "`--name absent` selects no kernel (seen: `fake_kernel(int)`); name one of these"},
      {"path", [](TraceBench& b) { b.job.trace->chrome_trace = "/nowhere/trace.json"; },
       "cannot write `/nowhere/trace.json` (no such folder, no right to, or no room); give "
       "`--chrome-trace` another path"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    TraceBench bench;
    row.prepare(bench);
    bench.run();
    CHECK(bench.error == row.message);
    CHECK_FALSE(bench.reply.trace);
  }
}

TEST_CASE("a wrong output fails a trace as it fails a test") {
  TraceBench bench;
  bench.kernel.after = [](const kbench_call* call) {
    static_cast<float*>(call->outputs[0].data)[0] = 1e9f;
    return 0;
  };
  bench.run();
  CHECK(bench.error.find("H is no copy of A") == 0);
}

TEST_CASE("the idle time comes from one traced repeat of all calls of a case") {
  TraceBench bench(Flush::once);
  current_kernel = &bench.kernel;
  const EventSink sink = [](const Event&) {};
  const Progress progress("t", sink, 60);
  CaseRun run(bench.device, bench.problem, bench.table, bench.job, progress, bench.reply);
  run.set_up();
  const IdleTime idle = trace_idle_time(
      run, 4, [&] { return std::make_unique<FakeTracer>(bench.device.diary, bench.kernel, 0); });
  CHECK(bench.kernel.calls == 2);
  CHECK(idle.event_ns == 2500);  // per call
  CHECK(idle.busy_ns == 200);
}

TEST_CASE("the Chrome trace is written where it is asked for, before any filter is judged") {
  const TemporaryFolder folder("chrome_trace");
  TraceBench bench;
  bench.job.trace->chrome_trace = folder / "trace.json";
  bench.job.trace->names = {"absent"};
  bench.run();
  CHECK_FALSE(bench.error.empty());
  std::ifstream file(folder / "trace.json");
  std::stringstream text;
  text << file.rdbuf();
  CHECK(text.str().find("fake_kernel(int)") != std::string::npos);
}

}  // namespace
}  // namespace kbench::test
