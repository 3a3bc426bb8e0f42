// CUDA plug-ins in front of a real worker on a GPU: the words for each way a GPU fails.
#include <string>

#include "catch.h"
#include "jobs.h"
#include "worker_process.h"

using namespace kbench;
using namespace kbench::test;

namespace {

std::optional<Reply> run_on_gpu(WorkerProcess& worker, const std::string& path, JobKind kind) {
  const Hello hello = worker.set_up(setup_for(path, DeviceRequest::Kind::cuda));
  REQUIRE(hello.error == "");
  return worker.run(make_job(kind, path));
}

}  // namespace

TEST_CASE("a right CUDA kernel passes in every kind of job", "[gpu]") {
  for (const JobKind kind : {JobKind::check, JobKind::measure, JobKind::profile}) {
    WorkerProcess worker;
    const std::optional<Reply> reply = run_on_gpu(worker, plugin_path("probe"), kind);
    REQUIRE(reply);
    CHECK(reply->error == "");
    CHECK(reply->passed);
  }
}

TEST_CASE("queued repeats hold launches back, unless the kernel waits for the device", "[gpu]") {
  struct Row {
    const char* plugin;
    HoldKind held_by;
    const char* reason;
  };
  const Row rows[] = {
      {"probe", HoldKind::hold, ""},
      {"cuda_waits", HoldKind::delay, "the launches did not all return within 0.2 s while they"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.plugin);
    WorkerProcess worker;
    const std::string path = plugin_path(row.plugin);
    REQUIRE(worker.set_up(setup_for(path, DeviceRequest::Kind::cuda)).error == "");
    Job job = make_job(JobKind::measure, path);
    job.launch = Launch::queued;
    job.hold_limit_s = 0.2;
    const std::optional<Reply> reply = worker.run(job);
    REQUIRE(reply);
    CHECK(reply->error == "");
    REQUIRE(reply->queued);
    CHECK(reply->queued->held_by == row.held_by);
    CHECK_THAT(reply->queued->reason, StartsWith(row.reason));
    CHECK(reply->queued->samples_ns.size() == 3);
    CHECK(reply->samples_ns.size() == 3);
  }
}

TEST_CASE("a lost GPU context fails the case and asks for a new worker", "[gpu]") {
  for (const char* plugin : {"cuda_sticky", "cuda_trap", "cuda_misaligned"}) {
    for (const JobKind kind : {JobKind::check, JobKind::measure, JobKind::profile}) {
      CAPTURE(plugin);
      WorkerProcess worker;
      const std::optional<Reply> reply = run_on_gpu(worker, plugin_path(plugin), kind);
      REQUIRE(reply);
      CHECK_THAT(reply->error, StartsWith("custom_kernel failed on the device ("));
      CHECK(reply->worker_unusable);
    }
  }
}

TEST_CASE("a launch that failed is seen although the kernel says that all is well", "[gpu]") {
  WorkerProcess worker;
  const std::optional<Reply> reply =
      run_on_gpu(worker, plugin_path("cuda_launch_error"), JobKind::check);
  REQUIRE(reply);
  CHECK_THAT(reply->error, StartsWith("custom_kernel failed on the device ("));
  CHECK_THAT(reply->error, ContainsSubstring("invalid"));
  CHECK_FALSE(reply->worker_unusable);
}

TEST_CASE("a write outside an output on the GPU is named", "[gpu]") {
  struct Row {
    const char* plugin;
    const char* error;
  };
  const Row rows[] = {
      {"cuda_writes_before_matrix", "custom_kernel wrote 4 bytes before output `H` (call 1)"},
      {"cuda_writes_after_matrix", "custom_kernel wrote 4 bytes after output `H` (call 1)"},
      {"cuda_writes_before_vector", "custom_kernel wrote 8 bytes before output `tau` (call 1)"},
      {"cuda_writes_after_vector", "custom_kernel wrote 4 bytes after output `tau` (call 1)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.plugin);
    WorkerProcess worker;
    const std::optional<Reply> reply =
        run_on_gpu(worker, plugin_path(row.plugin), JobKind::measure);
    REQUIRE(reply);
    CHECK(reply->error == row.error);
  }
}

TEST_CASE("a kernel that hangs on the GPU is announced with its limit", "[gpu]") {
  WorkerProcess worker;
  const std::string path = plugin_path("cuda_hang_on_gpu");
  REQUIRE(worker.set_up(setup_for(path, DeviceRequest::Kind::cuda)).error == "");
  Job job = make_job(JobKind::measure, path);
  job.call_timeout_s = 0.25;
  CHECK(worker.run_until_called(job).limit_s == 0.25);
  CHECK(worker.is_alive());
}

TEST_CASE("the CUDA baselines pass every gate on ordinary and awkward shapes", "[gpu]") {
  struct Row {
    const char* problem;
    std::int64_t batch, n;
    const char* case_name;
  };
  const Row rows[] = {
      {"qr_v2", 20, 32, "dense"},        {"qr_v2", 1, 1, "dense"},
      {"qr_v2", 3, 33, "rankdef"},       {"qr_v2", 40, 176, "nearcollinear"},
      {"qr_v2", 65535, 2, "dense"},      {"qr_v2", 65536, 3, "dense"},
      {"qr_v2", 70001, 2, "dense"},      {"qr_v2", 2, 1024, "clustered"},
      {"eigh_py", 20, 32, "dense"},      {"eigh_py", 3, 1, "dense"},
      {"eigh_py", 4, 16, "lapack_zero"}, {"eigh_py", 4, 16, "lapack_identity"},
      {"eigh_py", 65535, 2, "dense"},    {"eigh_py", 65536, 3, "dense"},
      {"eigh_py", 70001, 2, "dense"},    {"eigh_py", 3, 1600, "dense"},
      {"eigh_py", 16, 512, "clustered"}, {"eigh_py", 2, 64, "repeated"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.problem, row.batch, row.n, row.case_name);
    WorkerProcess worker;
    const std::string path = kernel_path(row.problem, "cusolver");
    REQUIRE(worker.set_up(setup_for(path, DeviceRequest::Kind::cuda)).error == "");
    const std::optional<Reply> reply =
        worker.run(make_job(JobKind::check, path, row.problem, row.batch, row.n, row.case_name));
    REQUIRE(reply);
    CHECK(reply->error == "");
  }
}

TEST_CASE("a trace names the one kernel of the probe, in every call and twice in one worker",
          "[gpu]") {
  WorkerProcess worker;
  const std::string path = plugin_path("probe");
  REQUIRE(worker.set_up(setup_for(path, DeviceRequest::Kind::cuda)).error == "");
  Job job = make_job(JobKind::trace, path);
  job.flush = Flush::clean;
  job.trace = TraceRequest();
  for (int round = 0; round < 2; ++round) {
    const std::optional<Reply> reply = worker.run(job);
    REQUIRE(reply);
    REQUIRE(reply->error == "");
    REQUIRE(reply->trace);
    const TraceFigures& trace = *reply->trace;
    REQUIRE(trace.kernels.size() == 1);
    CHECK(trace.kernels.front().name == "probe_qr_kernel");
    CHECK(trace.kernels.front().launches == 3);
    REQUIRE(trace.repeats.size() == 3);
    for (const RepeatFigures& repeat : trace.repeats) {
      CHECK(repeat.kernels == 1);
      CHECK(repeat.span_ns == repeat.busy_ns);
      CHECK(repeat.event_ns > repeat.span_ns);
    }
    CHECK(trace.warnings.empty());
  }
}

TEST_CASE("a filter that selects nothing lists what the GPU ran", "[gpu]") {
  WorkerProcess worker;
  const std::string path = plugin_path("probe");
  REQUIRE(worker.set_up(setup_for(path, DeviceRequest::Kind::cuda)).error == "");
  Job job = make_job(JobKind::trace, path);
  job.trace = TraceRequest{{"absent"}, false, ""};
  const std::optional<Reply> reply = worker.run(job);
  REQUIRE(reply);
  CHECK(reply->error ==
        "`--name absent` selects no kernel (seen: `probe_qr_kernel`); name one of these");
}

TEST_CASE("a measured case may say how long of the event time nothing ran", "[gpu]") {
  WorkerProcess worker;
  const std::string path = plugin_path("probe");
  REQUIRE(worker.set_up(setup_for(path, DeviceRequest::Kind::cuda)).error == "");
  Job job = make_job(JobKind::measure, path);
  job.idle_time = true;
  const std::optional<Reply> reply = worker.run(job);
  REQUIRE(reply);
  CHECK(reply->error == "");
  CHECK(reply->idle_unknown == "");
  REQUIRE(reply->idle);
  CHECK(reply->idle->busy_ns > 0);
  CHECK(reply->idle->busy_ns < reply->idle->event_ns);
}
