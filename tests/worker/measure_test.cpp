// The measured loop against a device that writes its calls down: their order is the contract.
#include "worker/measure.h"

#include <algorithm>
#include <string>
#include <vector>

#include "bench.h"
#include "catch.h"

using namespace kbench;
using namespace kbench::test;

namespace {

const Diary k_window = {"flush_cache",
                        "profiler_start",
                        "push custom_kernel",
                        "start",
                        "custom_kernel",
                        "custom_kernel",
                        "stop",
                        "pop",
                        "profiler_stop",
                        "copy",  // the snapshot
                        "check_launch",
                        "drain"};

}  // namespace

TEST_CASE("a timed repeat makes its device calls in the order of the contract") {
  Bench bench;
  bench.run();
  REQUIRE(bench.error.empty());
  // The last flush is the repeat's; the first one only allocates the buffer.
  CHECK(bench.count("flush_cache") == 2);
  Diary window = bench.between("flush_cache", "drain", 1);
  CHECK(window == k_window);

  const Diary before = bench.between("recheck", "recheck");
  CHECK_FALSE(before.empty());
  // synchronize, restore, poison, guards, the event, then the flush.
  const auto flush =
      std::find(bench.device.diary.rbegin(), bench.device.diary.rend(), "flush_cache");
  const Diary preparations(std::find(flush, bench.device.diary.rend(), "equal").base(),
                           flush.base() - 1);
  const Diary expected_head = {"synchronize", "copy", "copy", "fill",
                               "fill",        "fill", "fill", "fill"};
  REQUIRE(preparations.size() > expected_head.size());
  CHECK(Diary(preparations.begin(), preparations.begin() + 8) == expected_head);
  CHECK(std::all_of(preparations.begin() + 8, preparations.end() - 1,
                    [](const std::string& entry) { return entry == "holds_only"; }));
  CHECK(preparations.back() == "event repeat");
}

TEST_CASE("after a timed repeat come guards, inputs and a recheck of every output") {
  Bench bench;
  bench.run();
  const Diary after = bench.between("profiler_stop", "destroy");
  const auto position = [&](const std::string& entry) {
    return std::find(after.begin(), after.end(), entry) - after.begin();
  };
  CHECK(position("drain") < position("holds_only"));
  CHECK(position("holds_only") < position("equal"));
  CHECK(position("equal") < position("recheck"));
  CHECK(bench.count("recheck") == 2);
  CHECK(bench.count("check") == 2);
}

TEST_CASE("set-up goes from inputs over create to prepare, and each input is built once") {
  Bench bench;
  bench.run();
  CHECK(bench.count("generate") == 2);
  const Diary& diary = bench.device.diary;
  const auto at = [&](const std::string& entry) {
    return std::find(diary.begin(), diary.end(), entry) - diary.begin();
  };
  CHECK(at("generate") < at("create"));
  CHECK(at("create") < at("prepare 2"));
  CHECK(at("prepare 2") < at("custom_kernel"));
  REQUIRE(bench.reply.inputs.size() == 2);
  CHECK(bench.reply.inputs[1].seed == 12);
}

TEST_CASE("warm-up and checked pass open no capture range") {
  Bench bench;
  bench.job.warm_up = StopLimits{4, 1e8};
  bench.run();
  REQUIRE(bench.error.empty());
  CHECK(bench.reply.warm_up_repeats == 4);
  CHECK(bench.count("profiler_start") == 1);
  CHECK(bench.count("push custom_kernel") == 1);
  // 4 warm-up repeats, the checked pass and one timed repeat, two calls each.
  CHECK(bench.kernel.calls == 12);
  CHECK(bench.count("recheck") == 2);
}

TEST_CASE("a kernel that is wrong in its first call is not warmed up for") {
  Bench bench;
  bench.job.warm_up = StopLimits{200, 1e8};
  bench.table.custom_kernel = [](void* state, const kbench_call* call) {
    const int code = fake_custom_kernel(state, call);
    *static_cast<float*>(call->outputs[1].data) = 1;
    return code;
  };
  bench.run();
  CHECK_THAT(bench.error, ContainsSubstring("H is no copy of A"));
  CHECK(bench.kernel.calls == 1);
}

TEST_CASE("with the range off neither profiler calls nor NVTX are made") {
  for (const JobKind kind : {JobKind::measure, JobKind::profile}) {
    Bench bench;
    bench.job.kind = kind;
    bench.job.range = false;
    bench.run();
    REQUIRE(bench.error.empty());
    CHECK(bench.count("profiler_start") == 0);
    CHECK(bench.count("profiler_stop") == 0);
    CHECK(bench.count("push custom_kernel") == 0);
    CHECK(bench.count("pop") == 0);
  }
}

TEST_CASE("profile makes one call inside the range, waited for before the pop, checked after") {
  Bench bench;
  bench.job.kind = JobKind::profile;
  bench.job.seeds = {11};
  bench.run();
  REQUIRE(bench.error.empty());
  CHECK(bench.kernel.calls == 1);
  const Diary expected = {"profiler_start", "push custom_kernel", "custom_kernel",
                          "check_launch",   "synchronize",        "pop",
                          "profiler_stop"};
  CHECK(bench.between("profiler_start", "profiler_stop") == expected);
  const Diary& diary = bench.device.diary;
  CHECK(std::find(diary.begin(), diary.end(), "check") >
        std::find(diary.begin(), diary.end(), "profiler_stop"));
}

TEST_CASE("a launch that failed in profile leaves no range open") {
  Bench bench;
  bench.job.kind = JobKind::profile;
  bench.job.seeds = {11};
  bench.device.fail_at = "check_launch";
  bench.device.fail_after = 3;  // those of create, workspace_bytes and prepare pass
  bench.run();
  CHECK(bench.error ==
        "custom_kernel failed on the device (an illegal memory access was encountered)");
  CHECK(bench.count("pop") == 1);
  CHECK(bench.count("profiler_stop") == 1);
}

TEST_CASE("a check job makes one call and flushes nothing") {
  Bench bench;
  bench.job.kind = JobKind::check;
  bench.job.seeds = {11};
  bench.run();
  CHECK(bench.error.empty());
  CHECK(bench.kernel.calls == 1);
  CHECK(bench.count("flush_cache") == 0);
  CHECK(bench.count("profiler_start") == 0);
  CHECK(bench.reply.message == "copied");
}

TEST_CASE("a sample is the elapsed time over the number of calls") {
  Bench bench;
  bench.device.sample_ns = 3000;
  bench.job.exact_repeats = 5;
  bench.run();
  CHECK(bench.reply.samples_ns == std::vector<double>(5, 1500.0));
  CHECK(bench.reply.calls_per_repeat == 2);
  CHECK(bench.reply.stop == StopReason::repeats);
}

TEST_CASE("without an exact number the stop rule ends the repeats") {
  Bench bench;
  bench.job.exact_repeats = 0;
  bench.job.limits = {7, 1e10};
  bench.run();
  CHECK(bench.reply.samples_ns.size() <= 7);
  CHECK(bench.reply.stop != StopReason::none);
}

TEST_CASE("the reply holds the worst figures of all checks, in gate order") {
  Bench bench;
  bench.run();
  REQUIRE(bench.reply.residuals.size() == 2);
  CHECK(bench.reply.residuals[0].name == "distance");
  CHECK(bench.reply.residuals[0].value == 2.0);
  CHECK(bench.reply.residuals[1].value == 5.0);
  CHECK(bench.reply.worst_of_gate == 0.2);
  CHECK(bench.reply.worst_gate == "second");
  CHECK(bench.reply.message == "copied");
  CHECK(bench.reply.kernel_report == "fallbacks=0");
  CHECK(bench.reply.workspace_bytes == 10);
}

TEST_CASE("events limit plug-in code, and generously the code of kbench itself") {
  Bench bench;
  bench.job.warm_up = StopLimits{2, 1e8};
  bench.run();
  for (const Event& event : bench.events) {
    CAPTURE(event.phase);
    CHECK(event.token == "t");
    CHECK(event.limit_s > 0);
    if (event.what.empty()) CHECK(event.limit_s >= 120);
  }
  const auto with = [&](const std::string& phase, const std::string& what) {
    return std::count_if(bench.events.begin(), bench.events.end(), [&](const Event& event) {
      return event.phase == phase && event.what == what;
    });
  };
  CHECK(with("create", "create") == 1);
  CHECK(with("prepare", "prepare") == 1);
  CHECK(with("warm-up", "custom_kernel") == 3);  // two calls alone, then one repeat
  CHECK(with("checked pass", "custom_kernel") == 2);
  CHECK(with("repeat", "custom_kernel") == 1);
  CHECK(with("destroy", "destroy") == 1);
  CHECK(with("check", "") >= 3);
}

TEST_CASE("the limit of kbench's own code grows with the case and is never less than minutes") {
  const auto limit = [](DeviceKind device, std::int64_t batch, std::int64_t n, std::size_t inputs) {
    Case spec;
    spec.batch = batch;
    spec.n = n;
    return own_code_limit_s(device, spec, inputs);
  };
  CHECK(limit(DeviceKind::cuda, 1, 1, 1) >= 120);
  CHECK(limit(DeviceKind::host, 1, 1, 1) >= 600);
  // At 1 GFLOP/s the checks of two 4096 x 4096 matrices take a quarter of an hour.
  CHECK(limit(DeviceKind::host, 2, 4096, 1) > 3600);
  CHECK(limit(DeviceKind::cuda, 640, 512, 1) < 600);
  CHECK(limit(DeviceKind::cuda, 20, 32, 50) < 200);
}

TEST_CASE("the limit of a timed repeat is the call's plus ten times what the calls took before") {
  Bench bench;
  bench.job.call_timeout_s = 5;
  bench.run();
  double repeat_limit = 0;
  for (const Event& event : bench.events) {
    if (event.phase == "checked pass") CHECK(event.limit_s == 5);
    if (event.phase == "repeat" && !event.what.empty()) repeat_limit = event.limit_s;
  }
  CHECK(repeat_limit >= 5);
  CHECK(repeat_limit <= 5 + 10.0 * 2 * bench.reply.first_call_ms);
}

TEST_CASE("without a limit asked for a call has 60 s on CUDA and 600 s on the host") {
  for (const auto& [device, limit] : {std::pair{KBENCH_CUDA, 60.0}, {KBENCH_HOST, 600.0}}) {
    Bench bench;
    bench.job.call_timeout_s = 0;
    bench.table.device = device;
    bench.run();
    for (const Event& event : bench.events) {
      if (event.phase == "create") CHECK(event.limit_s == limit);
    }
  }
}

TEST_CASE("the running mean follows each timed repeat") {
  Bench bench;
  bench.job.exact_repeats = 3;
  bench.run();
  std::vector<double> means;
  for (const Event& event : bench.events) {
    if (event.phase == "repeat" && event.what.empty()) means.push_back(event.mean_ns);
  }
  CHECK(means == std::vector<double>(3, 500.0));
}

TEST_CASE("no event is sent between the start and the stop of the clock") {
  Bench bench;
  bench.job.warm_up = StopLimits{3, 1e8};
  bench.job.exact_repeats = 3;
  bench.run();
  bool running = false;
  for (const std::string& entry : bench.device.diary) {
    if (entry == "start") running = true;
    if (entry == "stop") running = false;
    if (running) CHECK((entry == "start" || entry == "custom_kernel"));
  }
}

TEST_CASE("outputs hold NaN and inputs are pristine before every call of a repeat") {
  Bench bench;
  bench.job.warm_up = StopLimits{3, 1e8};
  bench.job.exact_repeats = 2;
  bench.table.custom_kernel = [](void* state, const kbench_call* call) {
    const float a = *static_cast<float*>(call->inputs[0].data);
    const float h = *static_cast<float*>(call->outputs[0].data);
    const float tau = *static_cast<float*>(call->outputs[1].data);
    auto& workspace = *static_cast<std::uint8_t*>(call->workspace);
    const bool first = a == 11;  // the workspace is shared by the calls of a repeat
    const bool clean = h != h && tau != tau && (first || a == 12) && (!first || workspace == 0xFF);
    workspace = 1;
    const int code = fake_custom_kernel(state, call);
    return clean ? code : 1;
  };
  bench.run();
  CHECK(bench.error.empty());
}

TEST_CASE("a descriptor with the required function alone is enough") {
  Bench bench;
  bench.table.create = nullptr;
  bench.table.workspace_bytes = nullptr;
  bench.table.prepare = nullptr;
  bench.table.report = nullptr;
  bench.table.destroy = nullptr;
  bench.table.custom_kernel = [](void*, const kbench_call* call) {
    return fake_custom_kernel(current_kernel, call);
  };
  bench.run();
  CHECK(bench.error.empty());
  CHECK(bench.reply.workspace_bytes == 0);
  CHECK(bench.reply.kernel_report.empty());
}

TEST_CASE("a flush before every call puts a clock and a range of its own around each") {
  struct Row {
    Flush flush;
    std::int64_t flushes, cleanings, clocks;  // of one repeat of two calls
  };
  const Row rows[] = {{Flush::once, 1, 0, 1},
                      {Flush::cold, 2, 0, 2},
                      {Flush::clean, 2, 2, 2},
                      {Flush::none, 0, 0, 1}};
  for (const Row& row : rows) {
    CAPTURE(to_string(row.flush));
    Bench bench;
    bench.job.flush = row.flush;
    bench.run();
    REQUIRE(bench.error.empty());
    CHECK(bench.count("flush_cache") == 1 + row.flushes);  // the first allocates the buffer
    CHECK(bench.count("clean_cache") == row.cleanings);
    CHECK(bench.count("start") == row.clocks);
    CHECK(bench.count("profiler_start") == row.clocks);
    REQUIRE(bench.reply.samples_ns.size() == 1);
    CHECK(bench.reply.samples_ns.front() == 500 * static_cast<double>(row.clocks));
  }
}

TEST_CASE("with a flush before every call nothing but that call lies between flush and clock") {
  Bench bench;
  bench.job.flush = Flush::clean;
  bench.run();
  const Diary window = bench.between("flush_cache", "drain", 1);
  const Diary call = {"flush_cache",  "clean_cache",   "profiler_start", "push custom_kernel",
                      "start",        "custom_kernel", "stop",           "pop",
                      "profiler_stop"};
  Diary expected = call;
  expected.insert(expected.end(), call.begin(), call.end());
  for (const char* entry : {"copy", "check_launch", "drain"}) expected.push_back(entry);
  CHECK(window == expected);
}

TEST_CASE("where nothing can be traced the idle time is unknown, in words, and the case passes") {
  if (cuda_device_count(nullptr) > 0) return;
  Bench bench;
  bench.job.idle_time = true;
  bench.run();
  CHECK(bench.error.empty());
  CHECK_FALSE(bench.reply.idle);
  CHECK_THAT(bench.reply.idle_unknown, StartsWith("no tracing ("));
}
