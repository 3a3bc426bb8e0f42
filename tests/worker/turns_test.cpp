// Paced jobs: a timed repeat for every turn, nothing on the device while waiting, and a worker that
// leaves when nobody gives turns any more.
#include <chrono>
#include <vector>

#include "bench.h"
#include "catch.h"
#include "jobs.h"
#include "worker_process.h"

using namespace kbench;
using namespace kbench::test;

namespace {

/// A paced bench that gets `turns` turns; what it said before each is kept.
struct PacedBench : Bench {
  std::int64_t left;
  std::vector<double> said;

  explicit PacedBench(std::int64_t given) : left(given) {
    job.paced = true;
    job.exact_repeats = 0;
    turns = [this](double sample_ns) {
      said.push_back(sample_ns);
      device.diary.push_back("turn");
      return left-- > 0;
    };
  }
};

}  // namespace

TEST_CASE("a paced job makes one timed repeat for each turn and tells its time") {
  PacedBench bench(3);
  bench.run();
  CHECK(bench.error.empty());
  CHECK(bench.said == std::vector<double>{0, 500, 500, 500});
  CHECK(bench.reply.samples_ns == std::vector<double>{500, 500, 500});
  CHECK(bench.reply.stop == StopReason::repeats);
  CHECK(bench.count("start") == 3);
}

TEST_CASE("the stop rule does not end a paced job") {
  PacedBench bench(300);
  bench.job.limits = {7, 1};
  bench.run();
  CHECK(bench.reply.samples_ns.size() == 300);
}

TEST_CASE("a paced job without a turn passes without a time") {
  PacedBench bench(0);
  bench.device.best.copy_bytes_per_s = 1;  // any time would lie below this floor
  bench.run();
  CHECK(bench.error.empty());
  CHECK(bench.reply.samples_ns.empty());
}

TEST_CASE("a worker that waits for a turn has finished its repeat, check included") {
  PacedBench bench(4);
  bench.job.fresh_inputs = true;
  bench.run();
  CHECK(bench.error.empty());
  // Between the answer of one repeat and the next turn the device has nothing to do.
  const Diary& diary = bench.device.diary;
  REQUIRE(bench.count("turn") == 5);
  const auto first = std::find(diary.begin(), diary.end(), "turn");
  for (auto at = first + 1; at != diary.end(); ++at) {
    if (*at == "turn") CHECK(*(at - 1) == "event repeat");
  }
}

TEST_CASE("a real worker answers turns, and ends its case when the runner is gone") {
  WorkerProcess worker;
  worker.set_up(setup_for(plugin_path("good_row_major")));
  Job job = make_job(JobKind::measure, plugin_path("good_row_major"));
  job.paced = true;
  const std::vector<double> first = worker.run_paced(job, 2);
  REQUIRE(first.size() == 3);
  CHECK(first[0] == 0);
  CHECK(first[1] > 0);
  REQUIRE(worker.paced_reply);
  CHECK(worker.paced_reply->passed);
  CHECK(worker.paced_reply->samples_ns == std::vector<double>{first[1], first[2]});
  worker.begin_paced(job);
  shutdown(worker.socket(), SHUT_WR);
  CHECK(worker.wait() == 0);
}

TEST_CASE("an answer that is no turn of the job ends the worker") {
  WorkerProcess worker;
  worker.set_up(setup_for(plugin_path("good_row_major")));
  Job job = make_job(JobKind::measure, plugin_path("good_row_major"));
  job.paced = true;
  worker.begin_paced(job);
  worker.send(Turn{"another", true});
  CHECK(WEXITSTATUS(worker.wait()) == 1);
}

namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// A bench whose repeats start at moments that are `notice_ns` away; `starts_left` of them come.
struct TogetherBench : PacedBench {
  std::int64_t notice_ns = 0;
  std::int64_t starts_left;
  std::vector<std::int64_t> moments;
  StartSource starts;

  explicit TogetherBench(std::int64_t given) : PacedBench(given), starts_left(given) {
    job.together = true;
    starts = [this]() -> std::optional<std::int64_t> {
      device.diary.push_back("start moment");
      if (starts_left-- <= 0) return std::nullopt;
      moments.push_back(now_ns() + notice_ns);
      return moments.back();
    };
  }
  void run_together() {
    current_kernel = &kernel;
    const EventSink sink = [this](const Event& event) {
      device.diary.push_back("event " + event.phase);
    };
    try {
      run_kernel_job(device, problem, table, job, sink, reply, turns, starts);
    } catch (const Error& failure) {
      error = failure.what();
    }
  }
};

}  // namespace

TEST_CASE("a repeat that starts together is flushed, waited for and held before its moment") {
  TogetherBench bench(1);
  bench.run_together();
  CHECK(bench.error.empty());
  const Diary repeat = bench.between("event start", "drain");
  const auto place = [&](const std::string& entry) {
    return std::find(repeat.begin(), repeat.end(), entry) - repeat.begin();
  };
  CHECK(place("flush_cache") < place("synchronize"));
  CHECK(place("synchronize") < place("start moment"));
  CHECK(place("start moment") < place("hold"));
  CHECK(place("hold") < place("start"));
  CHECK(std::count(repeat.begin(), repeat.end(), "flush_cache") == 1);
  CHECK(std::count(repeat.begin(), repeat.end(), "start") == 1);
}

TEST_CASE("the start of every repeat is stamped, and none lies before its moment") {
  for (bool has_queue : {true, false}) {
    TogetherBench bench(3);
    bench.device.has_queue = has_queue;
    bench.notice_ns = 400'000;
    bench.run_together();
    CHECK(bench.error.empty());
    REQUIRE(bench.reply.starts.size() == 3);
    CHECK(bench.reply.samples_ns.size() == 3);
    for (std::size_t k = 0; k < 3; ++k) {
      CHECK(bench.reply.starts[k].after_ns >= bench.moments[k]);
      CHECK(bench.reply.starts[k].before_ns >= bench.reply.starts[k].after_ns);
    }
  }
}

TEST_CASE("a kernel that waits for the device inside its call is let go at the moment") {
  TogetherBench bench(2);
  bench.notice_ns = 400'000;
  bench.kernel.after = [&](const kbench_call*) {
    bench.device.wait_for_release();
    return 0;
  };
  bench.run_together();
  CHECK(bench.error.empty());
  CHECK(bench.reply.samples_ns.size() == 2);
}

TEST_CASE("a device that gave up waiting may have begun long before it was let go") {
  TogetherBench bench(1);
  bench.notice_ns = 400'000;
  bench.device.hold.expires = true;
  const std::int64_t before_ns = now_ns();
  bench.run_together();
  REQUIRE(bench.reply.starts.size() == 1);
  CHECK(bench.reply.starts[0].after_ns >= before_ns);
  CHECK(bench.reply.starts[0].after_ns < bench.moments[0]);
  CHECK(bench.reply.starts[0].before_ns >= bench.moments[0]);
}

TEST_CASE("where nothing may be held back the calls begin at the moment") {
  TogetherBench bench(2);
  bench.notice_ns = 400'000;
  bench.job.may_hold = false;
  bench.run_together();
  CHECK(bench.error.empty());
  CHECK(std::count(bench.device.diary.begin(), bench.device.diary.end(), "hold") == 0);
  REQUIRE(bench.reply.starts.size() == 2);
  for (std::size_t k = 0; k < 2; ++k) CHECK(bench.reply.starts[k].after_ns >= bench.moments[k]);
}

TEST_CASE("without a moment the prepared repeat is not made") {
  TogetherBench bench(3);
  bench.starts_left = 1;
  bench.run_together();
  CHECK(bench.error.empty());
  CHECK(bench.reply.samples_ns.size() == 1);
  CHECK(bench.reply.starts.size() == 1);
}
