// Work that is not done when the clock stops, and what a kernel does to the device: seen, in words.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "bench.h"
#include "catch.h"

using namespace kbench;
using namespace kbench::test;

namespace {

constexpr float k_nan = std::numeric_limits<float>::quiet_NaN();

/// A kernel that leaves tau of call 1 unwritten in the timed repeats and hands `finish` over.
struct LateBench : Bench {
  explicit LateBench(DeviceKind kind) {
    device.set_kind(kind);
    table.device = kind == DeviceKind::host ? KBENCH_HOST : KBENCH_CUDA;
    kernel.after = [this](const kbench_call* call) {
      if (events.back().phase != "repeat" || tau != nullptr) return 0;
      tau = static_cast<float*>(call->outputs[1].data);
      *tau = k_nan;
      return 0;
    };
  }
  void finish() {
    if (tau != nullptr) *tau = 0;
  }
  float* tau = nullptr;
};

}  // namespace

TEST_CASE("the outputs are copied directly behind the clock and the copy is judged") {
  Bench bench;
  // All that the kernel wrote is undone before kbench looks: the copy still holds it.
  std::vector<float*> outputs;
  bench.kernel.after = [&](const kbench_call* call) {
    outputs.push_back(static_cast<float*>(call->outputs[0].data));
    return 0;
  };
  bench.device.at_drain = [&] { *outputs.back() = -1; };
  bench.run();
  CHECK(bench.error ==
        "work was still running 0 us after the timed stream had finished (output `H` (call 2) "
        "changed); join every stream and thread before the end of the call");
}

TEST_CASE("work that is finished after the clock has stopped fails the case") {
  LateBench cuda(DeviceKind::cuda);
  cuda.device.rests_ns = {123400};
  cuda.device.at_drain = [&] { cuda.finish(); };
  cuda.run();
  CHECK(cuda.error ==
        "work was still running 123 us after the timed stream had finished (output `tau` (call 1) "
        "changed); join every stream and thread before the end of the call");

  // A thread of the host, done before the outputs are checked ...
  LateBench host(DeviceKind::host);
  host.device.at_drain = [&] { host.finish(); };
  host.run();
  CHECK(host.error ==
        "work was still running after the clock had stopped (output `tau` (call 1) changed); join "
        "every stream and thread before the end of the call");
}

TEST_CASE("a thread that changes right outputs while they are checked fails the case") {
  Bench bench;
  bench.device.set_kind(DeviceKind::host);
  bench.table.device = KBENCH_HOST;
  float* h = nullptr;
  bench.kernel.after = [&](const kbench_call* call) {
    h = static_cast<float*>(call->outputs[0].data);
    return 0;
  };
  bench.problem.at_check = [&] {
    if (bench.device.diary.back() == "recheck") *h = 5;
  };
  bench.run();
  CHECK(bench.error ==
        "work was still running after the clock had stopped (output `H` (call 2) changed); join "
        "every stream and thread before the end of the call");
}

TEST_CASE("work that is never finished leaves NaN and fails its check") {
  LateBench bench(DeviceKind::cuda);
  bench.run();
  CHECK_THAT(bench.error, StartsWith("H is no copy of A (call 1 of repeat 1, seed 11)"));
}

TEST_CASE("a device that goes on longer than the stream fails the case, but not once by chance") {
  struct Row {
    double price_ns;  // of waiting for a device that has nothing left to do
    double window_ns;
    std::vector<double> rests_ns;
    const char* error;
  };
  const char* const often =
      "work was still running 21 us after the timed stream had finished (so in 3 of 3 repeats); "
      "join every stream and thread before the end of the call";
  const char* const at_last =
      "work was still running 90 us after the timed stream had finished (so in 3 of 6 repeats); "
      "join every stream and thread before the end of the call";
  const Row rows[] = {
      {0, 0, {21e3}, often},       // always
      {0, 0, {20e3}, ""},          // the longest that passes
      {53e3, 0, {73e3}, ""},       // much to tidy up: the price of it
      {53e3, 0, {74e3}, often},    // and beyond it
      {5e6, 0, {2.021e6}, often},  // nothing is tidied up so long
      {0, 10e6, {40e3}, ""},       // two in a thousand of the window
      {0,
       5e6,
       {31e3},
       "work was still running 31 us after the timed stream had finished (so in 3 of 3 repeats); "
       "join every stream and thread before the end of the call"},
      {0, 0, {5e6, 5e6, 3e3}, ""},                              // this thread was not running
      {0, 0, {3e3, 30e3, 3e3, 40e3, 3e3, 90e3, 3e3}, at_last},  // every other one
      {0, 0, {3e3, 3e3, 30e3, 3e3, 3e3, 3e3, 30e3, 3e3, 3e3, 3e3, 3e3, 3e3, 30e3, 3e3}, ""},
  };
  for (const Row& row : rows) {
    Bench bench;
    bench.job.fresh_inputs = true;
    bench.job.exact_repeats = 20;
    bench.device.price_ns = row.price_ns;
    bench.device.sample_ns = row.window_ns;
    bench.device.rests_ns = row.rests_ns;
    bench.run();
    CHECK(bench.error == row.error);
  }
}

TEST_CASE("without audit repeats nothing says what a wait costs, and none is judged") {
  Bench bench;
  bench.job.exact_repeats = 20;
  bench.device.rests_ns = {90e3};
  bench.run();
  CHECK(bench.error == "");
}

TEST_CASE("what a kernel did to the device is told in words, and a lost one is given up") {
  struct Row {
    std::int64_t after;  // questions about the device before the one that finds it
    bool lost;
    const char* error;
  };
  const Row rows[] = {
      {0, false, "create, workspace_bytes or prepare moved the moon; put it back"},
      {1, false, "custom_kernel moved the moon; put it back"},  // in the checked pass
      {3, false, "custom_kernel moved the moon; put it back"},  // in the timed repeat
      {3, true, "custom_kernel moved the moon; put it back"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.after);
    Bench bench;
    bench.device.disturbed = {"moved the moon; put it back", row.lost};
    bench.device.disturb_after = row.after;
    bench.run();
    CHECK(bench.error == row.error);
    CHECK(bench.sticky == row.lost);
    CHECK(bench.kernel.destroyed == (row.lost ? 0 : 1));
    CHECK(bench.device.allocated == 0);
  }
}

TEST_CASE("a device failure that a reset explains is told as the reset") {
  Bench bench;
  bench.device.fail_at = "drain";
  bench.device.disturbed = {"reset the device; leave it", true};
  bench.device.disturb_after = 3;
  bench.run();
  CHECK(bench.error == "custom_kernel reset the device; leave it");
  CHECK(bench.sticky);
}
