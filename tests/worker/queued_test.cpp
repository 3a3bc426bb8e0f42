// Queued repeats: launches that cannot start before all of them are enqueued, and every way in
// which that can fail.
#include <algorithm>
#include <chrono>
#include <string>

#include "bench.h"
#include "catch.h"
#include "worker/launch_hold.h"
#include "worker/watchdog.h"

using namespace kbench;
using namespace kbench::test;

namespace {

void run(Bench& bench) {
  bench.job.launch = Launch::queued;
  bench.job.exact_repeats = 2;
  bench.run();
}

}  // namespace

TEST_CASE("in a queued repeat the hold lies between flush and first event") {
  Bench bench;
  run(bench);
  REQUIRE(bench.error.empty());
  const Diary expected = {"hold",    "start",        "custom_kernel", "custom_kernel", "stop",
                          "copy",  // the snapshot
                          "release", "check_launch", "drain"};
  CHECK(bench.between("hold", "drain") == expected);
  const auto hold = std::find(bench.device.diary.begin(), bench.device.diary.end(), "hold");
  CHECK(*(hold - 1) == "flush_cache");
  CHECK(bench.count("hold") == 2);
}

TEST_CASE("queued repeats come after the public ones, without a capture range, and are checked") {
  Bench bench;
  run(bench);
  REQUIRE(bench.error.empty());
  const Diary& diary = bench.device.diary;
  const auto hold = std::find(diary.begin(), diary.end(), "hold");
  CHECK(std::count(diary.begin(), hold, "profiler_start") == 2);
  CHECK(std::count(hold, diary.end(), "profiler_start") == 0);
  CHECK(std::count(hold, diary.end(), "recheck") == 4);
  CHECK(bench.reply.samples_ns.size() == 2);
  REQUIRE(bench.reply.queued);
  CHECK(bench.reply.queued->held_by == HoldKind::hold);
  CHECK(bench.reply.queued->reason.empty());
  CHECK(bench.reply.queued->samples_ns.size() == 2);
}

TEST_CASE("nothing is held back where it was not asked for") {
  Bench bench;
  bench.run();
  CHECK(bench.count("hold") == 0);
  CHECK_FALSE(bench.reply.queued);
}

TEST_CASE("a kernel that says it waits gets a wait of fixed length, and the result says so") {
  Bench bench;
  bench.table.flags = KBENCH_SYNCHRONISES_HOST;
  run(bench);
  REQUIRE(bench.error.empty());
  CHECK(bench.count("hold") == 0);
  CHECK(bench.count("wait 1000000") == 2);
  CHECK(bench.reply.queued->held_by == HoldKind::delay);
  CHECK(bench.reply.queued->delay_ns == 1e6);
  CHECK(bench.reply.queued->reason ==
        "the kernel says that it waits for the device; a wait of 1 ms on the device stands in "
        "front instead");
  CHECK(bench.reply.queued->samples_ns.size() == 2);
}

TEST_CASE("a kernel that waits without saying so is let go and measured behind a fixed wait") {
  Bench bench;
  bench.job.hold_limit_s = 0.02;
  bench.kernel.after = [&](const kbench_call*) {
    bench.device.wait_for_release();
    return 0;
  };
  run(bench);
  REQUIRE(bench.error.empty());
  CHECK(bench.count("hold") == 1);
  CHECK(bench.count("wait 1000000") == 2);
  CHECK(bench.reply.queued->held_by == HoldKind::delay);
  CHECK_THAT(bench.reply.queued->reason,
             StartsWith("the launches did not all return within 0.02 s while they were held back"));
  CHECK(bench.reply.queued->samples_ns.size() == 2);
  CHECK(bench.reply.samples_ns.size() == 2);
}

TEST_CASE("a hold that the device ended by itself gives no sample") {
  Bench bench;
  bench.device.hold.expires = true;
  run(bench);
  REQUIRE(bench.error.empty());
  CHECK(bench.count("hold") == 1);
  CHECK(bench.reply.queued->held_by == HoldKind::delay);
}

TEST_CASE("a device without a queue says so and is measured no second time") {
  Bench bench;
  bench.device.has_queue = false;
  run(bench);
  REQUIRE(bench.error.empty());
  CHECK(bench.reply.queued->held_by == HoldKind::none);
  CHECK(bench.reply.queued->reason == "this device has no queue of launches");
  CHECK(bench.reply.queued->samples_ns.empty());
  CHECK(bench.count("event repeat") == 4);
}

TEST_CASE("a kernel that fails while it is held back fails the case and holds nothing up") {
  Bench bench;
  bench.kernel.after = [&](const kbench_call*) { return bench.device.hold.held ? 7 : 0; };
  run(bench);
  CHECK(bench.error == "custom_kernel failed (code 7)");
  CHECK_FALSE(bench.device.hold.held);
  CHECK(bench.count("release") == 1);
}

TEST_CASE("the limit of a call is longer by the time that its launches may be held back") {
  Bench bench;
  bench.job.hold_limit_s = 5;
  run(bench);
  double repeat_s = 0, queued_s = 0;
  for (const Event& event : bench.events) {
    if (event.what != "custom_kernel") continue;
    if (event.phase == "repeat") repeat_s = event.limit_s;
    if (event.phase == "queued repeat") queued_s = event.limit_s;
  }
  CHECK(queued_s == repeat_s + 5);
}

TEST_CASE("a watchdog bites once after its time, and never once it is called off") {
  int bites = 0;
  Watchdog called_off(1000, [&] { ++bites; });
  CHECK_FALSE(called_off.call_off());
  CHECK(bites == 0);

  std::mutex mutex;
  std::condition_variable news;
  Watchdog waiting(0.001, [&] {
    const std::lock_guard lock(mutex);
    ++bites;
    news.notify_one();
  });
  std::unique_lock lock(mutex);
  CHECK(news.wait_for(lock, std::chrono::seconds(60), [&] { return bites == 1; }));
  lock.unlock();
  CHECK(waiting.call_off());
  CHECK(waiting.call_off());
  CHECK(bites == 1);
}
