// The worker's protocol: set-up, jobs that fail and jobs after them, and a disturbed channel.
#include "worker/serve.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <string>

#include "catch.h"
#include "core/npy.h"
#include "core/sha256.h"
#include "jobs.h"
#include "worker/job_memory.h"
#include "worker_process.h"

using namespace kbench;
using namespace kbench::test;

TEST_CASE("the first message names kernel and device and what is free") {
  WorkerProcess worker;
  const Hello hello = worker.set_up(setup_for(plugin_path("good_column_major")));
  CHECK(hello.token == "setup");
  CHECK(hello.error.empty());
  REQUIRE(hello.kernel);
  CHECK(hello.kernel->name == "good_column_major");
  CHECK(hello.kernel->problem == "qr_v2");
  CHECK(hello.kernel->description == "test plug-in");
  CHECK(hello.kernel->path == plugin_path("good_column_major"));
  CHECK(hello.kernel->device == DeviceKind::host);
  REQUIRE(hello.device);
  CHECK(hello.device->kind == DeviceKind::host);
  CHECK(hello.device->free_bytes > 0);
  CHECK(worker.close_and_wait() == 0);
}

TEST_CASE(
    "loading a plug-in has the limit of a call where one is given, and never less than 20 s") {
  struct Row {
    double asked_s, limit_s;
  };
  for (const Row& row : {Row{0.5, 20}, Row{45, 45}}) {
    Setup setup = setup_for(plugin_path("good_column_major"));
    setup.call_timeout_s = row.asked_s;
    WorkerProcess worker;
    CHECK(worker.set_up(setup).error.empty());
    REQUIRE(worker.events.size() == 2);
    CHECK(worker.events[0].token == setup.token);
    CHECK(worker.events[0].what == "loading the plug-in");
    CHECK(worker.events[0].limit_s == row.limit_s);
    CHECK(worker.events[1].limit_s == k_set_up_limit_s);
  }
  WorkerProcess worker;
  worker.set_up(setup_for(plugin_path("good_column_major")));
  CHECK(worker.events.empty());
}

TEST_CASE("the memory of a job is told beforehand within 1 % of what it takes") {
  for (const JobKind kind : {JobKind::check, JobKind::measure}) {
    Job job = make_job(kind, plugin_path("good_row_major"), "qr_v2", 3, 128);
    job.fresh_inputs = kind == JobKind::measure;
    WorkerProcess worker;
    REQUIRE(worker.set_up(setup_for(job.kernel_path)).error.empty());
    const std::optional<Reply> reply = worker.run(job);
    REQUIRE(reply);
    CHECK(reply->error.empty());
    const auto taken = static_cast<double>(reply->device_peak_bytes - reply->workspace_bytes);
    CHECK(taken > 0);
    CHECK(std::abs(job_memory(job) - taken) < 0.01 * taken);
  }
}

TEST_CASE("auto takes the kernel's own device") {
  WorkerProcess worker;
  const Hello hello =
      worker.set_up(setup_for(plugin_path("good_row_major"), DeviceRequest::Kind::automatic));
  REQUIRE(hello.device);
  CHECK(hello.device->kind == DeviceKind::host);
  CHECK(hello.note.empty());
}

TEST_CASE(
    "a free kernel gets the integers of its line, says what a call takes, and is not checked") {
  Job job = make_job(JobKind::measure, plugin_path("free_sum"), "free", 1, 0, "free");
  job.seeds = {0};
  job.fresh_inputs = true;
  job.spec.parameters = {{"other", 3}, {"length", 100000}};
  WorkerProcess worker;
  REQUIRE(worker.set_up(setup_for(plugin_path("free_sum"))).error.empty());
  const std::optional<Reply> reply = worker.run(job);
  REQUIRE(reply);
  CHECK(reply->error.empty());
  CHECK(reply->passed);
  CHECK(reply->message == "not checked");
  CHECK(reply->samples_ns.size() == 3);
  CHECK(reply->declared_bytes == 4e5);
  CHECK(reply->declared_flops == 1e5);
  CHECK(reply->fresh_inputs == "fixed");
  job.spec.parameters = {{"other", 3}};
  const std::optional<Reply> refused = worker.run(job);
  REQUIRE(refused);
  CHECK(refused->error == "create failed (code 1): length is missing");
}

TEST_CASE("plug-ins that cannot be used are refused at set-up, in exact words") {
  struct Row {
    std::string path;
    std::string start, end;
  };
  const std::string missing = plugin_path("does_not_exist");
  const Row rows[] = {
      {plugin_path("wrong_abi"), "kernel `" + plugin_path("wrong_abi") + "` has ABI version 8 ",
       "(this kbench has 2); rebuild it with this kbench's kernels/kbench_kernel.h"},
      {plugin_path("no_descriptor"),
       "kernel `" + plugin_path("no_descriptor") + "` exports no `kbench_kernel_descriptor` ",
       "(not a kbench plug-in, or the symbol is hidden or C++-mangled); define it with extern "
       "\"C\" KBENCH_EXPORT"},
      {plugin_path("no_function"),
       "kernel `" + plugin_path("no_function") + "` has a wrong descriptor ",
       "(`custom_kernel` is missing); see kernels/kbench_kernel.h"},
      {missing, "cannot load kernel `" + missing + "` (",
       "build it against kernels/kbench_kernel.h as a shared object"},
      {KBENCH_SOURCE_DIR "/CMakeLists.txt", "cannot load kernel `",
       "build it against kernels/kbench_kernel.h as a shared object"},
  };
  for (const Row& row : rows) {
    WorkerProcess worker;
    const Hello hello = worker.set_up(setup_for(row.path));
    CHECK_THAT(hello.error, StartsWith(row.start));
    CHECK_THAT(hello.error, ContainsSubstring(row.end));
    CHECK(hello.code == ExitCode::usage);
    CHECK_FALSE(hello.device);
  }
}

TEST_CASE("a kernel for another problem fails the case, naming both") {
  WorkerProcess worker;
  const std::string path = plugin_path("good_row_major");
  worker.set_up(setup_for(path));
  const std::optional<Reply> reply = worker.run(make_job(JobKind::check, path, "eigh_py"));
  REQUIRE(reply);
  CHECK(reply->error ==
        "kernel `good_row_major` solves `qr_v2` (the case is of problem `eigh_py`); name a kernel "
        "of that problem, see `kbench list kernels`");
}

TEST_CASE("a second plug-in is refused: one a process") {
  WorkerProcess worker;
  const std::string first = plugin_path("good_row_major"), second = plugin_path("returns_error");
  worker.set_up(setup_for(first));
  const std::optional<Reply> reply = worker.run(make_job(JobKind::check, second));
  REQUIRE(reply);
  CHECK(reply->error == "this worker holds kernel `" + first + "` and cannot load `" + second +
                            "` (one plug-in per process); start a fresh worker");
  CHECK(worker.run(make_job(JobKind::check, first))->passed);
}

TEST_CASE("after a failed case the next one runs as if nothing had been") {
  WorkerProcess worker;
  const std::string path = plugin_path("good_row_major");
  worker.set_up(setup_for(path));
  Job huge = make_job(JobKind::measure, path);
  huge.spec.batch = std::int64_t{1} << 40;
  huge.spec.n = 1024;
  const std::optional<Reply> refused = worker.run(huge);
  REQUIRE(refused);
  CHECK_THAT(refused->error, StartsWith("out of device memory before allocating (2 calls of batch "
                                        "1099511627776, n 1024 needs "));
  CHECK_THAT(refused->error, ContainsSubstring("lower batch or n"));
  CHECK_FALSE(refused->worker_unusable);
  CHECK(worker.run(make_job(JobKind::measure, path))->passed);
}

TEST_CASE("jobs that make no sense are answered in words") {
  WorkerProcess worker;
  worker.set_up(setup_for(""));
  CHECK(worker.run(make_job(JobKind::check, ""))->error ==
        "job names no kernel; use `--kernel NAME|PATH.so`");
  CHECK(worker.run(make_job(JobKind::check, "", "lu"))->error ==
        "worker knows no problem `lu`; see `kbench list problems`");
  Job seedless = make_job(JobKind::generate, "");
  seedless.seeds.clear();
  CHECK(worker.run(seedless)->error == "job names no seed (nothing to build an input from)");
}

TEST_CASE("generate writes each input once and names it by its bits") {
  TemporaryFolder folder("generate");
  WorkerProcess worker;
  worker.set_up(setup_for(""));
  Job job = make_job(JobKind::generate, "");
  job.out = folder / "inputs";
  job.seeds = {1, 2, 1};
  const std::optional<Reply> reply = worker.run(job);
  REQUIRE(reply);
  CHECK(reply->error == "");
  REQUIRE(reply->inputs.size() == 3);
  CHECK(reply->inputs[0].path == job.out + "/case0-0.npy");
  CHECK(reply->inputs[2].path == job.out + "/case0-2.npy");
  CHECK(reply->inputs[0].sha256 == reply->inputs[2].sha256);
  CHECK(reply->inputs[0].sha256 != reply->inputs[1].sha256);
  const NpyHeader header = read_npy_header(reply->inputs[1].path);
  CHECK(header.shape == std::vector<std::int64_t>{3, 8, 8});
  const std::vector<float> values = read_npy(reply->inputs[1].path, header);
  CHECK(sha256_hex(values.data(), values.size() * sizeof(float)) == reply->inputs[1].sha256);

  job.seeds = {7};
  CHECK(worker.run(job)->inputs.at(0).path == job.out + "/case0.npy");
}

TEST_CASE("a job that is asked to names its inputs by the same bits as generate does") {
  TemporaryFolder folder("hashes");
  WorkerProcess worker;
  const std::string path = plugin_path("good_row_major");
  worker.set_up(setup_for(path));
  Job written = make_job(JobKind::generate, path);
  written.out = folder / "inputs";
  written.seeds = {1, 2};
  const std::vector<InputRecord> inputs = worker.run(written)->inputs;
  for (const JobKind kind : {JobKind::check, JobKind::measure}) {
    Job job = make_job(kind, path);
    job.seeds = written.seeds;
    CHECK(worker.run(job)->inputs.at(0).sha256.empty());
    job.hash_inputs = true;
    const std::optional<Reply> reply = worker.run(job);
    CHECK(reply->error == "");
    REQUIRE(reply->inputs.size() == 2);
    for (std::size_t j = 0; j < 2; ++j) CHECK(reply->inputs[j].sha256 == inputs.at(j).sha256);
  }
}

TEST_CASE("a user's own matrices are read, and refused where they do not fit the case") {
  TemporaryFolder folder("input");
  WorkerProcess worker;
  const std::string path = plugin_path("good_row_major");
  worker.set_up(setup_for(path));
  const std::vector<float> identity = {1, 0, 0, 1};
  write_npy(folder / "a.npy", {2, 2}, identity.data());

  Job job = make_job(JobKind::measure, path, "qr_v2", 1, 2);
  job.spec.input_path = folder / "a.npy";
  CHECK(worker.run(job)->error == "");

  job.spec.n = 3;
  CHECK(worker.run(job)->error == "`" + (folder / "a.npy") +
                                      "` has shape [2, 2] (the case says batch 1, n 3); the file "
                                      "and the case must agree");
  job.spec.input_path = folder / "missing.npy";
  CHECK_THAT(worker.run(job)->error, ContainsSubstring("missing.npy"));
}

TEST_CASE("the worker ends cleanly when the runner closes and with 1 on anything but messages") {
  {
    WorkerProcess worker;
    CHECK(worker.close_and_wait() == 0);
  }
  struct Row {
    const char* bytes;
    std::size_t size;
  };
  const std::string empty_object = encode_frame("{}");
  const std::string half = encode_frame(to_json(Setup{})).substr(0, 11);
  for (const std::string& bytes : {std::string("check: pass\n"), empty_object, half}) {
    WorkerProcess worker;
    REQUIRE(write(worker.socket(), bytes.data(), bytes.size()) ==
            static_cast<ssize_t>(bytes.size()));
    const int status = worker.close_and_wait();
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 1));
  }
}

TEST_CASE("list_devices names every device, the host last") {
  WorkerProcess worker;
  Setup setup = setup_for("");
  setup.list_devices = true;
  const Hello hello = worker.set_up(setup);
  REQUIRE_FALSE(hello.devices.empty());
  CHECK(hello.devices.back().kind == DeviceKind::host);
}
