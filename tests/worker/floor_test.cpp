// Times below which no honest call lies: where they come from, and what is said of one below.
#include "worker/floor.h"

#include <string>

#include "bench.h"
#include "catch.h"

using namespace kbench;
using namespace kbench::test;

namespace {

/// For 1000 matrices with n = 1000 of the fake problem: 8e9 bytes, 1e12 operations.
struct Row {
  const char* capability;
  Speed speed;
  bool unstructured;
  double ns;
  const char* reason;
};

}  // namespace

TEST_CASE("the floor is the largest of launch, bytes and operations, and says what it is not") {
  const Row rows[] = {
      {"9.0", {}, false, 0, ""},
      {"9.0", {0, 1500}, false, 750, "half of an empty launch"},
      {"9.0",
       {4e12, 1500},
       false,
       1e6,
       "half of 8000 MB of input and output at the 4000 GB/s of a copy"},
      {"9.0",
       {4e12, 1500},
       true,
       1e9 / 990,
       "1000 nominal Gflop at the 990 Tflop/s of the tensor units"},
      {"9.0",
       {3e12, 0},
       true,
       4e9 / 3e3,
       "half of 8000 MB of input and output at the 3000 GB/s of a copy"},
      {"7.5",
       {4e12, 1500},
       true,
       1e6,
       "half of 8000 MB of input and output at the 4000 GB/s of a copy; no tensor peak known for "
       "7.5"},
      {"", {0, 0}, true, 0, "no tensor peak known for the host"},
  };
  Diary diary;
  FakeProblem problem(diary);
  Case spec;
  spec.batch = 1000;
  spec.n = 1000;
  for (const Row& row : rows) {
    CAPTURE(row.capability, row.speed.copy_bytes_per_s, row.unstructured);
    problem.unstructured = row.unstructured;
    DeviceInfo device;
    device.capability = row.capability;
    const Floor floor = time_floor(device, row.speed, problem, spec);
    CHECK(floor.ns == Catch::Approx(row.ns));
    CHECK(floor.reason == row.reason);
  }
}

TEST_CASE("only capabilities with a known peak have one") {
  CHECK(tensor_peak("9.0") == 990e12);
  CHECK(tensor_peak("9") == 0);
  CHECK(tensor_peak("") == 0);
}

TEST_CASE("a mean below the floor fails the case in words and keeps its samples") {
  Bench bench;
  bench.job.exact_repeats = 3;
  bench.device.best = {0, 2000};
  bench.device.sample_ns = 2 * 999;  // two calls
  bench.run();
  CHECK(bench.error ==
        "impossible time (mean 0.999 us below the floor 1 us: half of an empty launch); do all the "
        "work of a call inside the call");
  CHECK(bench.reply.floor_ns == 1000);
  CHECK(bench.reply.floor_reason == "half of an empty launch");
  CHECK(bench.reply.samples_ns.size() == 3);

  Bench honest;
  honest.device.best = {0, 2000};
  honest.device.sample_ns = 2 * 1000;
  honest.run();
  CHECK(honest.error == "");
  CHECK(honest.reply.floor_ns == 1000);
}

TEST_CASE("the speed of the device is asked for before the plug-in is called, if at all") {
  Bench bench;
  bench.run();
  const Diary& diary = bench.device.diary;
  CHECK(bench.count("speed") > 0);
  CHECK(std::find(diary.begin(), diary.end(), "speed") <
        std::find(diary.begin(), diary.end(), "create"));
  Bench check;
  check.job.kind = JobKind::check;
  check.run();
  CHECK(check.count("speed") == 0);
  CHECK(check.reply.floor_ns == 0);
}
