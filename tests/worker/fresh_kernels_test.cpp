// Shipped kernels on fresh inputs of every kind, in front of a real worker: never accused.
#include <string>
#include <vector>

#include "catch.h"
#include "core/npy.h"
#include "jobs.h"
#include "problems/problem.h"
#include "worker_process.h"

using namespace kbench;
using namespace kbench::test;

namespace {

Job fresh_job(const std::string& kernel, const std::string& problem, std::string_view kind) {
  Job job = make_job(JobKind::measure, kernel, problem, 3, 12, std::string(kind));
  job.fresh_inputs = true;
  job.nonce = 0xFEDCBA9876543210u;
  job.warm_up = StopLimits{2, 1e8};
  return job;
}

void run_every_case(DeviceKind device, const char* kernel) {
  for (const Problem* problem : problems()) {
    if (problem->info().free_form) continue;
    const std::string name(problem->info().name);
    WorkerProcess worker;
    const std::string path = kernel_path(name, kernel);
    const bool host = device == DeviceKind::host;
    const Hello hello = worker.set_up(
        setup_for(path, host ? DeviceRequest::Kind::host : DeviceRequest::Kind::cuda));
    REQUIRE(hello.error == "");
    bool alone = false;
    for (const std::string_view kind : problem->info().cases) {
      CAPTURE(name, kind, alone);
      Job job = fresh_job(path, name, kind);
      // Every other case with one input, as large cases have.
      if (alone) job.seeds.pop_back();
      alone = !alone;
      const std::optional<Reply> reply = worker.run(job);
      REQUIRE(reply);
      CHECK(reply->error == "");
      const bool fixed = kind == "lapack_zero" || kind == "lapack_identity";
      CHECK(reply->fresh_inputs == (fixed ? "fixed" : "on"));
      CHECK(reply->audit_repeats >= 2);  // more where the machine was busy during the first
      CHECK(reply->audit_call_ns.has_value() != fixed);
      CHECK(reply->samples_ns.size() == 3);
      CHECK(reply->floor_ns > 0);
      CHECK_FALSE(reply->floor_reason.empty());
    }
  }
}

}  // namespace

TEST_CASE("the LAPACK kernels pass every case on fresh inputs") {
  run_every_case(DeviceKind::host, "lapack");
}

TEST_CASE("the CUDA baselines pass every case on fresh inputs", "[gpu]") {
  run_every_case(DeviceKind::cuda, "cusolver");
}

TEST_CASE("a user's own matrices are renewed too") {
  TemporaryFolder folder("fresh_own");
  const std::vector<float> own = {2, 1, 0, 1, 3, 1, 0, 1, 4};
  write_npy(folder / "a.npy", {3, 3}, own.data());
  for (const char* problem : {"qr_v2", "eigh_py"}) {
    CAPTURE(problem);
    WorkerProcess worker;
    const std::string path = kernel_path(problem, "lapack");
    worker.set_up(setup_for(path));
    Job job = fresh_job(path, problem, "dense");
    job.spec.batch = 1;
    job.spec.n = 3;
    job.spec.input_path = folder / "a.npy";
    const std::optional<Reply> reply = worker.run(job);
    REQUIRE(reply);
    CHECK(reply->error == "");
    CHECK(reply->fresh_inputs == "on");
  }
}
