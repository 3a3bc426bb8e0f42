// Fresh inputs and audit repeats on the fakes: which inputs each pass sees, in what order they
// arrive, and which kernels that catches.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "bench.h"
#include "catch.h"
#include "worker/repeat_inputs.h"

using namespace kbench;
using namespace kbench::test;

namespace {

struct FreshBench : Bench {
  explicit FreshBench(std::uint64_t nonce = 7) {
    job.fresh_inputs = true;
    job.nonce = nonce;
    job.exact_repeats = 4;
  }
  std::set<std::int64_t> fresh_seeds() const {
    std::set<std::int64_t> seeds(problem.drawn_seeds.begin(), problem.drawn_seeds.end());
    for (const std::int64_t seed : job.seeds) seeds.erase(seed);
    return seeds;
  }
};

std::vector<const kbench_call*> prepared;

int remember_calls(void*, const kbench_call* calls, std::int32_t count) {
  prepared.clear();
  for (std::int32_t j = 0; j < count; ++j) prepared.push_back(calls + j);
  return 0;
}

/// What one audit repeat did on the device, from its event to the end of its wait.
Diary audit_window(const FreshBench& bench, int number) {
  return bench.between("event audit", "drain", number - 1);
}

bool is_cut(const Diary& window) {
  return std::count(window.begin(), window.end(), "custom_kernel") == 1;
}

float first_of(const kbench_call* call) { return *static_cast<float*>(call->inputs[0].data); }

}  // namespace

TEST_CASE("every pass but the first timed repeat sees inputs that no other has seen") {
  FreshBench bench;
  bench.job.warm_up = StopLimits{3, 1e8};
  bench.run();
  REQUIRE(bench.error == "");
  CHECK(bench.reply.fresh_inputs == "on");
  // 3 warm-up repeats, the checked pass, 2 audits and 3 of the 4 timed repeats, two inputs each.
  CHECK(bench.fresh_seeds().size() == 18);
  CHECK(*bench.fresh_seeds().begin() >= 0);
  // The published ones: once for set-up, once for the first timed repeat.
  CHECK(std::count(bench.problem.drawn_seeds.begin(), bench.problem.drawn_seeds.end(), 11) == 2);
  CHECK(bench.count("generate") == 22);
}

TEST_CASE("the nonce names the inputs of the timed repeats, whatever the warm-up did") {
  FreshBench once, again, warmer, other(8);
  warmer.job.warm_up = StopLimits{5, 1e8};
  for (FreshBench* bench : {&once, &again, &warmer, &other}) bench->run();
  CHECK(once.problem.drawn_seeds == again.problem.drawn_seeds);
  const auto seeds = once.fresh_seeds(), warm = warmer.fresh_seeds(), others = other.fresh_seeds();
  CHECK(std::includes(warm.begin(), warm.end(), seeds.begin(), seeds.end()));
  for (const std::int64_t seed : others) CHECK(seeds.count(seed) == 0);
}

TEST_CASE("seeds depend on all they are made of and are no progression") {
  const Pass pass{Stage::timed, 2};
  const std::uint64_t seed = fresh_seed(1, 2, pass, 3);
  CHECK(fresh_seed(1, 2, pass, 3) == seed);
  CHECK(fresh_seed(2, 2, pass, 3) != seed);
  CHECK(fresh_seed(1, 3, pass, 3) != seed);
  CHECK(fresh_seed(1, 2, {Stage::warm_up, 2}, 3) != seed);
  CHECK(fresh_seed(1, 2, {Stage::timed, 3}, 3) != seed);
  CHECK(fresh_seed(1, 2, pass, 4) != seed);
  std::set<std::uint64_t> steps;
  for (std::int64_t repeat = 1; repeat <= 100; ++repeat) {
    steps.insert(fresh_seed(1, 2, {Stage::timed, repeat + 1}, 0) -
                 fresh_seed(1, 2, {Stage::timed, repeat}, 0));
  }
  CHECK(steps.size() == 100);
}

TEST_CASE("fresh inputs are made before the flush and outside the window") {
  FreshBench bench;
  bench.run();
  bool preparing = true;
  for (const std::string& entry : bench.device.diary) {
    if (entry == "flush_cache") preparing = false;
    // Set-up flushes once, to have the buffer.
    if (entry == "drain" || entry == "speed") preparing = true;
    if (entry == "generate") CHECK(preparing);
  }
}

TEST_CASE("without fresh inputs, or with one input only, every pass sees the published ones") {
  struct Row {
    bool fresh;
    Renewal renews;
    const char* mode;
    std::int64_t least_audits;
  };
  for (const Row& row : {Row{false, Renewal::drawn, "off", 0}, Row{false, Renewal::fixed, "off", 0},
                         Row{true, Renewal::fixed, "fixed", 2}}) {
    CAPTURE(row.mode);
    FreshBench bench;
    bench.job.fresh_inputs = row.fresh;
    bench.problem.renews = row.renews;
    bench.run();
    CHECK(bench.error == "");
    CHECK(bench.reply.fresh_inputs == row.mode);
    CHECK(bench.count("generate") == 2);
    CHECK(bench.reply.audit_repeats == row.least_audits);
  }
}

TEST_CASE("jobs that measure nothing see the published inputs") {
  for (const JobKind kind : {JobKind::check, JobKind::profile}) {
    FreshBench bench;
    bench.job.kind = kind;
    bench.run();
    CHECK(bench.error == "");
    CHECK(bench.count("generate") == 2);
    CHECK(bench.reply.audit_repeats == 0);
    CHECK(bench.reply.fresh_inputs == "");
  }
}

TEST_CASE("one audit brings each input between the calls, one ends before the last call") {
  const Diary hiding = {"event audit", "flush_cache",   "start", "copy", "custom_kernel", "fill",
                        "copy",        "custom_kernel", "stop",  "copy", "check_launch",  "drain"};
  const Diary cut = {"event audit", "flush_cache", "start",        "custom_kernel",
                     "stop",        "copy",        "check_launch", "drain"};
  int cut_first = 0;
  for (std::uint64_t nonce = 0; nonce < 20; ++nonce) {
    FreshBench bench(nonce);
    bench.run();
    const Diary first = audit_window(bench, 1), second = audit_window(bench, 2);
    CHECK(first == (is_cut(first) ? cut : hiding));
    CHECK(second == (is_cut(first) ? hiding : cut));
    cut_first += is_cut(first) ? 1 : 0;
  }
  CHECK(cut_first > 3);
  CHECK(cut_first < 17);
}

TEST_CASE("a repeat of one call is never cut") {
  FreshBench bench;
  bench.job.seeds = {11};
  bench.job.exact_repeats = 80;
  bench.run();
  CHECK(bench.error == "");
  CHECK(bench.count("custom_kernel") == 1 + 80 + bench.reply.audit_repeats);
}

TEST_CASE("prepare sees no input") {
  FreshBench bench;
  static std::vector<float> seen;
  seen.clear();
  bench.table.prepare = [](void*, const kbench_call* calls, std::int32_t count) {
    for (std::int32_t j = 0; j < count; ++j) seen.push_back(first_of(calls + j));
    return 0;
  };
  bench.run();
  CHECK(bench.error == "");
  CHECK(seen.size() == bench.job.seeds.size());
  CHECK(std::all_of(seen.begin(), seen.end(), [](float x) { return std::isnan(x); }));
}

TEST_CASE("in an audit repeat each input is there during its own call alone, else during all") {
  FreshBench bench;
  bench.table.prepare = remember_calls;
  std::int64_t hidden = 0, shown = 0;
  bench.kernel.after = [&](const kbench_call* call) {
    for (const kbench_call* each : prepared) {
      if (each != call) ++(std::isnan(first_of(each)) ? hidden : shown);
    }
    return 0;
  };
  bench.run();
  CHECK(bench.error == "");
  CHECK(hidden == 2);
  CHECK(shown == 5 * 2 + 1);  // the checked pass, the timed repeats and the call of the cut audit
}

TEST_CASE("a kernel that works in audits only is told by its time there") {
  FreshBench bench;
  bench.table.prepare = remember_calls;
  std::int64_t slow_calls = 0;
  bench.kernel.after = [&](const kbench_call* call) {
    for (const kbench_call* each : prepared) {
      if (each == call || !std::isnan(first_of(each))) continue;
      ++slow_calls;
      bench.device.work_ns += 7000;
    }
    return 0;
  };
  bench.run();
  CHECK_THAT(bench.error,
             StartsWith("a call takes 0.50 us in timed repeats and at least 7.00 us in "
                        "13 audit repeats"));
  CHECK(slow_calls == 2 * 13);
  CHECK(bench.reply.audit_call_ns == 7000.0);
}

TEST_CASE("a machine that is busy during audits accuses nobody") {
  FreshBench bench;
  bench.table.prepare = remember_calls;
  std::int64_t slow_calls = 0;
  bench.kernel.after = [&](const kbench_call* call) {
    for (const kbench_call* each : prepared) {
      if (each == call || !std::isnan(first_of(each)) || ++slow_calls > 8) continue;
      bench.device.work_ns += 7000;
    }
    return 0;
  };
  bench.run();
  CHECK(bench.error == "");
  CHECK(bench.reply.audit_call_ns == 0.0);  // five audits of two calls: the last was not disturbed
  CHECK(slow_calls == 10);
}

TEST_CASE("one repeat in eight is an audit, two at least, at places that follow from the nonce") {
  struct Row {
    std::int64_t repeats, least, most;
  };
  for (const Row& row :
       {Row{1, 2, 2}, Row{3, 2, 2}, Row{8, 2, 2}, Row{80, 11, 11}, Row{84, 11, 12}}) {
    CAPTURE(row.repeats);
    FreshBench bench;
    bench.job.exact_repeats = row.repeats;
    bench.run();
    CHECK(bench.error == "");
    CHECK(bench.reply.samples_ns.size() == static_cast<std::size_t>(row.repeats));
    CHECK(bench.reply.audit_repeats >= row.least);
    CHECK(bench.reply.audit_repeats <= row.most);
  }
  std::set<Diary> orders;
  for (std::uint64_t nonce = 0; nonce < 20; ++nonce) {
    FreshBench bench(nonce);
    bench.job.exact_repeats = 40;
    bench.run();
    Diary order;
    for (const Event& event : bench.events) {
      if (!event.what.empty() && (event.phase == "audit" || event.phase == "repeat")) {
        order.push_back(event.phase);
      }
    }
    orders.insert(order);
  }
  CHECK(orders.size() > 10);
}

TEST_CASE("work done in another call is caught by both kinds of audit and by nothing else") {
  std::set<std::string> errors;
  for (std::uint64_t nonce = 0; nonce < 20; ++nonce) {
    for (const bool first : {true, false}) {
      for (const bool fresh : {false, true}) {
        CAPTURE(nonce, first, fresh);
        FreshBench bench(nonce);
        bench.job.fresh_inputs = fresh;
        bench.table.prepare = remember_calls;
        // Honest in the checked pass; later the first or the last call does all the work.
        static const std::vector<Event>* said;
        static bool in_first;
        said = &bench.events;
        in_first = first;
        bench.table.custom_kernel = [](void* state, const kbench_call* call) {
          if (said->back().phase == "checked pass") return fake_custom_kernel(state, call);
          if (call != (in_first ? prepared.front() : prepared.back())) return 0;
          for (const kbench_call* each : prepared) fake_custom_kernel(state, each);
          return 0;
        };
        bench.run();
        CHECK(bench.error.empty() == !fresh);
        if (fresh) errors.insert(bench.error);
      }
    }
  }
  // The call whose work another does is named, whichever audit came first.
  const std::set<std::string> expected = {
      "H is no copy of A (call 1 of audit repeat 1, seed 11, fresh input; it was there during this "
      "call alone, so no other can do its work)",
      "H is no copy of A (call 2 of audit repeat 1, seed 12, fresh input; it was there during this "
      "call alone, so no other can do its work)",
      "H is no copy of A (call 1 of audit repeat 1, seed 11, fresh input; the repeat ended early, "
      "so no later call can do its work)",
      "custom_kernel wrote output `H` of call 2 without that call (audit repeat 1 ended after call "
      "1); each call does its own work and no other's"};
  CHECK(errors == expected);
}

TEST_CASE("an answer that is kept from an earlier repeat is wrong for fresh inputs") {
  FreshBench bench;
  bench.table.prepare = remember_calls;
  static std::vector<float> kept;
  kept.clear();
  bench.kernel.after = [](const kbench_call* call) {
    // What call 1 answered in its first repeat, again and again.
    if (call != prepared.front()) return 0;
    float* h = static_cast<float*>(call->outputs[0].data);
    if (kept.empty()) kept.assign(h, h + 18);
    std::copy(kept.begin(), kept.end(), h);
    return 0;
  };
  bench.run();
  CHECK_THAT(bench.error, StartsWith("H is no copy of A (call 1 of "));
}

TEST_CASE("a failure says whether its input was a fresh or a published one") {
  for (const std::int64_t repeat : {1, 2}) {
    FreshBench bench;
    bench.kernel.after = [&](const kbench_call* call) {
      // The samples say which timed repeat this is; audits come without one.
      const auto timed = static_cast<std::int64_t>(bench.reply.samples_ns.size()) + 1;
      const bool audit = bench.events.back().phase == "audit";
      if (timed == repeat && !audit && bench.events.back().phase == "repeat") {
        *static_cast<float*>(call->outputs[0].data) = -1;
      }
      return 0;
    };
    bench.run();
    CHECK(bench.error == (repeat == 1
                              ? "H is no copy of A (call 1 of repeat 1, seed 11)"
                              : "H is no copy of A (call 1 of repeat 2, seed 11, fresh input)"));
  }
}

TEST_CASE("a changed input is seen in an audit repeat too, its own or one that is gone") {
  for (const std::size_t victim : {0u, 1u}) {
    FreshBench bench;
    bench.table.prepare = remember_calls;
    bench.kernel.after = [&](const kbench_call* call) {
      if (bench.events.back().phase == "audit" && call == prepared.back()) {
        static_cast<float*>(prepared[victim]->inputs[0].data)[17] = 0;
      }
      return 0;
    };
    bench.run();
    CHECK(bench.error == fmt::format("custom_kernel changed its input (call {}); inputs are "
                                     "read-only",
                                     victim + 1));
  }
}

TEST_CASE("the memory of a measured case counts snapshot, staging and arrangements") {
  struct Row {
    bool fresh;
    Renewal renews;
    const char* need;
  };
  // A call: A twice and two of H and tau each, 16.25 GiB. Moved inputs: one more A, and 12 bytes a
  // row of each of the two inputs.
  for (const Row& row : {Row{false, Renewal::moved, "32.50"}, Row{true, Renewal::drawn, "32.50"},
                         Row{true, Renewal::moved, "37.25"}}) {
    FreshBench bench;
    bench.job.fresh_inputs = row.fresh;
    bench.problem.renews = row.renews;
    bench.device.free = std::int64_t{3} << 30;
    bench.job.spec.batch = 1 << 20;
    bench.job.spec.n = 32;
    bench.run();
    CHECK(bench.error == std::string("out of device memory before allocating (2 calls of batch "
                                     "1048576, n 32 needs ") +
                             row.need + " GiB, 3.00 GiB are free); lower batch or n");
    CHECK(bench.count("allocate") == 0);
  }
}
