// Kernels, devices and cases that fail in the measured loop: the words, and what is left behind.
#include <cstdio>
#include <functional>
#include <limits>
#include <string>

#include "bench.h"
#include "catch.h"

using namespace kbench;
using namespace kbench::test;

TEST_CASE("a failing call closes the range and the failure is in words") {
  Bench bench;
  bench.kernel.after = [&](const kbench_call* call) {
    if (bench.kernel.calls < 3) return 0;  // the checked pass has two
    std::snprintf(call->error, call->error_size, "no luck");
    return 77;
  };
  bench.run();
  CHECK(bench.error == "custom_kernel failed (code 77): no luck");
  CHECK(bench.count("pop") == 1);
  CHECK(bench.count("profiler_stop") == 1);
  CHECK(bench.kernel.calls == 3);
  CHECK(bench.kernel.destroyed == 1);
}

TEST_CASE("a failure says which call of which repeat gave the wrong output") {
  Bench bench;
  bench.job.exact_repeats = 3;
  bench.kernel.after = [&](const kbench_call* call) {
    if (bench.kernel.calls == 6) *static_cast<float*>(call->outputs[0].data) = -1;
    return 0;
  };
  bench.run();
  CHECK(bench.error == "H is no copy of A (call 2 of repeat 2, seed 12)");
  CHECK(bench.reply.samples_ns.size() == 1);
}

TEST_CASE("a changed input and a write outside an array are named") {
  struct Row {
    const char* error;
    std::function<void(const kbench_call*)> damage;
  };
  const Row rows[] = {
      {"custom_kernel changed its input (call 2); inputs are read-only",
       [](const kbench_call* call) {
         if (*static_cast<float*>(call->inputs[0].data) == 12) {
           static_cast<float*>(call->inputs[0].data)[5] = 0;
         }
       }},
      {"custom_kernel wrote 4 bytes after output `H` (call 1)",
       [](const kbench_call* call) {
         if (*static_cast<float*>(call->inputs[0].data) == 11) {
           static_cast<float*>(call->outputs[0].data)[2 * 3 * 3] = 0;
         }
       }},
      {"custom_kernel wrote 8 bytes before output `tau` (call 1)",
       [](const kbench_call* call) {
         if (*static_cast<float*>(call->inputs[0].data) == 11) {
           static_cast<float*>(call->outputs[1].data)[-1] = 0;
           static_cast<float*>(call->outputs[1].data)[-2] = 0;
         }
       }},
      {"custom_kernel wrote 1 bytes after the workspace",
       [](const kbench_call* call) { static_cast<char*>(call->workspace)[12] = 0; }},
      {"custom_kernel wrote 4 bytes before input `A` (call 1)",
       [](const kbench_call* call) {
         if (*static_cast<float*>(call->inputs[0].data) == 11) {
           static_cast<float*>(call->inputs[0].data)[-1] = 0;
         }
       }},
  };
  for (const JobKind kind : {JobKind::measure, JobKind::profile}) {
    for (const Row& row : rows) {
      Bench bench;
      bench.job.kind = kind;
      if (kind == JobKind::profile && row.error[0] != 0 &&
          std::string(row.error).find("call 2") != std::string::npos) {
        continue;  // profile makes call 1 only
      }
      bench.kernel.after = [&](const kbench_call* call) {
        row.damage(call);
        return 0;
      };
      bench.run();
      CHECK(bench.error == row.error);
      CHECK(bench.device.allocated == 0);
    }
  }
}

TEST_CASE("a damaged guard goes before the wrong output it may have caused") {
  Bench bench;
  bench.kernel.after = [](const kbench_call* call) {
    static_cast<float*>(call->outputs[0].data)[0] = -1;
    static_cast<float*>(call->outputs[0].data)[18] = -1;
    return 0;
  };
  bench.run();
  CHECK(bench.error == "custom_kernel wrote 4 bytes after output `H` (call 1)");
}

TEST_CASE("everything of a case is freed, whatever ended it") {
  for (const char* entry : {"", "generate", "prepare 2", "upload", "synchronize", "check_launch",
                            "flush_cache", "profiler_start", "equal"}) {
    for (const bool sticky : {false, true}) {
      CAPTURE(entry);
      Bench bench;
      bench.device.fail_at = entry;
      bench.device.sticky = sticky;
      bench.run();
      CHECK(bench.device.allocated == 0);
    }
  }
}

TEST_CASE("a sticky device failure is the kernel's, and its state is then left alone") {
  for (const bool sticky : {false, true}) {
    Bench bench;
    bench.device.fail_at = "profiler_stop";
    bench.device.sticky = sticky;
    bench.run();
    CHECK(bench.error ==
          "custom_kernel failed on the device (an illegal memory access was encountered)");
    CHECK(bench.sticky == sticky);
    CHECK(bench.kernel.destroyed == (sticky ? 0 : 1));
  }
}

TEST_CASE("a case that cannot fit is refused in words before anything is allocated") {
  Bench bench;
  bench.device.free = std::int64_t{3} << 30;
  bench.job.kind = JobKind::check;
  bench.job.seeds = {1};
  bench.job.spec.batch = 1 << 20;
  bench.job.spec.n = 32;
  bench.run();
  CHECK(bench.error ==
        "out of device memory before allocating (1 call of batch 1048576, n 32 needs 12.13 GiB, "
        "3.00 GiB are free); lower batch or n");
  CHECK(bench.count("allocate") == 0);
  CHECK(bench.count("generate") == 0);

  Bench huge;
  huge.job.kind = JobKind::check;
  huge.job.spec.batch = std::int64_t{1} << 40;
  huge.job.spec.n = std::int64_t{1} << 10;
  huge.run();
  CHECK_THAT(huge.error, StartsWith("out of device memory before allocating"));
}

TEST_CASE("a workspace that cannot fit is refused in words") {
  Bench bench;
  bench.table.workspace_bytes = [](void*) { return std::uint64_t{1} << 50; };
  bench.run();
  CHECK(bench.error ==
        "out of device memory before allocating (the kernel's workspace needs 1048576.00 GiB, "
        "1024.00 GiB are free); lower batch or n");
  Bench absurd;
  absurd.table.workspace_bytes = [](void*) { return std::numeric_limits<std::uint64_t>::max(); };
  absurd.run();
  CHECK(absurd.error == "workspace_bytes answered 18446744073709551615 (more than any device has)");
}
