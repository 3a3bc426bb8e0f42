// Every test plug-in in front of a real worker: the exact words, or the death, that each leads to.
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "catch.h"
#include "core/npy.h"
#include "jobs.h"
#include "worker_process.h"

using namespace kbench;
using namespace kbench::test;

namespace {

std::optional<Reply> run_once(const std::string& plugin, JobKind kind = JobKind::measure) {
  WorkerProcess worker;
  const std::string path = plugin_path(plugin);
  const Hello hello = worker.set_up(setup_for(path));
  CHECK(hello.error.empty());
  return worker.run(make_job(kind, path));
}

}  // namespace

TEST_CASE("right kernels pass in either layout, in every kind of job") {
  for (const char* plugin : {"good_row_major", "good_column_major", "whole_interface", "chatter"}) {
    for (const JobKind kind : {JobKind::check, JobKind::measure, JobKind::profile}) {
      CAPTURE(plugin);
      const std::optional<Reply> reply = run_once(plugin, kind);
      REQUIRE(reply);
      CHECK(reply->error == "");
      CHECK(reply->passed);
      CHECK_THAT(reply->message, ContainsSubstring("scaled_factor_residual="));
      CHECK(reply->samples_ns.size() == (kind == JobKind::measure ? 3u : 0u));
      CHECK(reply->kernel->name == plugin);
    }
  }
}

TEST_CASE("each failure of a kernel has its exact words") {
  struct Row {
    const char* plugin;
    const char* error;
  };
  const Row rows[] = {
      {"throws", "custom_kernel threw an exception: no panel left"},
      {"throws_int", "custom_kernel threw an exception: not a std::exception"},
      {"returns_error", "custom_kernel failed (code 42): panel 3 did not converge"},
      {"create_fails", "create failed (code 9): n must be 33"},
      {"writes_before_matrix", "custom_kernel wrote 4 bytes before output `H` (call 1)"},
      {"writes_after_matrix", "custom_kernel wrote 4 bytes after output `H` (call 1)"},
      {"writes_before_vector", "custom_kernel wrote 8 bytes before output `tau` (call 1)"},
      {"writes_after_vector", "custom_kernel wrote 4 bytes after output `tau` (call 1)"},
      {"modifies_input", "custom_kernel changed its input (call 1); inputs are read-only"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.plugin);
    for (const JobKind kind : {JobKind::check, JobKind::profile}) {
      const std::optional<Reply> reply = run_once(row.plugin, kind);
      REQUIRE(reply);
      CHECK(reply->error == row.error);
      CHECK_FALSE(reply->passed);
      CHECK_FALSE(reply->worker_unusable);
    }
  }
}

TEST_CASE("a wrong output is a failed check in every kind of job") {
  for (const char* plugin :
       {"unwritten_output", "nan_output", "one_bad_matrix", "zero_work", "no_work"}) {
    for (const JobKind kind : {JobKind::check, JobKind::measure, JobKind::profile}) {
      CAPTURE(plugin);
      const std::optional<Reply> reply = run_once(plugin, kind);
      REQUIRE(reply);
      CHECK_FALSE(reply->passed);
      CHECK_FALSE(reply->error.empty());
      CHECK(reply->samples_ns.empty());
    }
  }
  CHECK_THAT(run_once("one_bad_matrix", JobKind::check)->error, ContainsSubstring("matrix 2"));
}

TEST_CASE("an output that is right in the checked pass and wrong later fails the case") {
  const std::optional<Reply> reply = run_once("wrong_later");
  REQUIRE(reply);
  // Two checked calls, two of the first repeat, two of the second, then call 7 right and call 8
  // not.
  CHECK_THAT(reply->error, ContainsSubstring("(call 2 of repeat 3, seed 84)"));
  CHECK(reply->samples_ns.size() == 2);
}

TEST_CASE("a message of a plug-in that is no text is bounded and made valid") {
  const std::optional<Reply> reply = run_once("returns_bad_text", JobKind::check);
  REQUIRE(reply);
  CHECK_THAT(reply->error, StartsWith("custom_kernel failed (code 5): \xEF\xBF\xBD"));
  CHECK_THAT(reply->error, ContainsSubstring("..."));
  CHECK(reply->error.size() < 1200);
}

TEST_CASE("a workspace beyond all memory fails the case in words and the next case runs") {
  WorkerProcess worker;
  const std::string path = plugin_path("greedy_workspace");
  worker.set_up(setup_for(path));
  const std::optional<Reply> reply = worker.run(make_job(JobKind::check, path));
  REQUIRE(reply);
  CHECK_THAT(reply->error,
             StartsWith("out of device memory before allocating (the kernel's workspace needs "
                        "1048576.00 GiB"));
}

TEST_CASE("a worker that dies in the call sends no reply") {
  struct Row {
    const char* plugin;
    int signal;  // 0: exit status 0
  };
  for (const Row& row : {Row{"segfault", SIGSEGV}, Row{"abort", SIGABRT}, Row{"exit0", 0}}) {
    CAPTURE(row.plugin);
    WorkerProcess worker;
    const std::string path = plugin_path(row.plugin);
    worker.set_up(setup_for(path));
    CHECK_FALSE(worker.run(make_job(JobKind::measure, path)));
    const int status = worker.wait();
    if (row.signal == 0) {
      CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    } else {
#if !defined(__SANITIZE_ADDRESS__)  // a sanitizer turns the signal into an exit status
      CHECK((WIFSIGNALED(status) && WTERMSIG(status) == row.signal));
#endif
    }
    // The last thing said is what runs: the runner's words depend on it.
    REQUIRE_FALSE(worker.events.empty());
    CHECK(worker.events.back().what == "custom_kernel");
  }
}

TEST_CASE("before a call that never returns the worker names its limit") {
  WorkerProcess worker;
  const std::string path = plugin_path("hang");
  worker.set_up(setup_for(path));
  Job job = make_job(JobKind::measure, path);
  job.call_timeout_s = 0.25;
  const Event event = worker.run_until_called(job);
  CHECK(event.limit_s == 0.25);
  CHECK(event.phase == "checked pass");
  CHECK(worker.is_alive());
}

TEST_CASE("bytes of a kernel on the worker's descriptors disturb the channel and pass nothing") {
  WorkerProcess worker;
  const std::string path = plugin_path("writes_descriptors");
  worker.set_up(setup_for(path));
  const std::optional<Reply> reply = worker.run(make_job(JobKind::check, path));
  CHECK((!reply || !reply->passed));
  CHECK_THAT(worker.channel_error, StartsWith("the runner sent no message"));
}

TEST_CASE("a right kernel that switches subnormals off in each call passes") {
  const std::optional<Reply> reply = run_once("flushes_subnormals");
  REQUIRE(reply);
  CHECK(reply->error == "");
}

TEST_CASE("the arrays of a failed case are saved") {
  TemporaryFolder folder("failing");
  WorkerProcess worker;
  const std::string path = plugin_path("one_bad_matrix");
  worker.set_up(setup_for(path));
  Job job = make_job(JobKind::check, path);
  job.save_failing = folder / "new/folder";
  const std::optional<Reply> reply = worker.run(job);
  REQUIRE(reply);
  CHECK_THAT(reply->error, ContainsSubstring("; saved as `" + job.save_failing + "/case0.*.npy`"));
  const std::string h_path = job.save_failing + "/case0.H.npy";
  const std::string tau_path = job.save_failing + "/case0.tau.npy";
  const NpyHeader h = read_npy_header(h_path);
  CHECK(h.shape == std::vector<std::int64_t>{3, 8, 8});
  CHECK(read_npy_header(job.save_failing + "/case0.A.npy").shape == h.shape);
  CHECK(read_npy_header(tau_path).shape == std::vector<std::int64_t>{3, 8});
}

TEST_CASE("a failed case that cannot be saved still gives its own reason") {
  TemporaryFolder folder("unsaved");
  write_npy(folder / "file", {1}, std::vector<float>{0}.data());
  WorkerProcess worker;
  const std::string path = plugin_path("one_bad_matrix");
  worker.set_up(setup_for(path));
  Job job = make_job(JobKind::check, path);
  job.save_failing = folder / "file/below";
  const std::optional<Reply> reply = worker.run(job);
  REQUIRE(reply);
  CHECK_THAT(reply->error, ContainsSubstring("matrix 2"));
  CHECK_THAT(reply->error, ContainsSubstring("; not saved: cannot make folder"));
}
