// kbench's own arithmetic beside plug-ins that switch subnormal numbers off.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#include "catch.h"
#include "fake_problem.h"
#include "jobs.h"
#include "worker/kernel_plugin.h"
#include "worker/measure.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace kbench;
using namespace kbench::test;

namespace {

bool subnormals_work() {
  const volatile float tiny = 1e-39f;
  const volatile float half = tiny * 0.5f;
  return half > 0;
}

void flush_subnormals() {
#if defined(__x86_64__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(std::uint64_t{1} << 24));
#endif
}

/// Exit status of `body` in a child: a plug-in stays loaded and would change this process.
template <class Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("loading a plug-in that switches subnormals off leaves them on") {
  CHECK(in_child([] {
          flush_subnormals();
          return subnormals_work() ? 1 : 0;
        }) == 0);
  CHECK(in_child([] {
          const KernelPlugin plugin(plugin_path("flushes_subnormals"));
          return subnormals_work() ? 0 : 1;
        }) == 0);
}

TEST_CASE("calls that switch subnormals off leave them on for the checks") {
  for (const JobKind kind : {JobKind::check, JobKind::measure, JobKind::profile}) {
    for (const std::int32_t where : {KBENCH_HOST, KBENCH_CUDA}) {
      FakeDevice device;
      FakeProblem problem(device.diary);
      FakeKernel kernel;
      kernel.diary = &device.diary;
      kernel.after = [](const kbench_call*) {
        flush_subnormals();
        return 0;
      };
      kbench_kernel table = k_fake_kernel;
      table.device = where;
      Job job = make_job(kind, "");
      bool worked = true;
      const EventSink sink = [&](const Event& event) {
        if (event.what.empty()) worked = worked && subnormals_work();
      };
      current_kernel = &kernel;
      Reply reply;
      run_kernel_job(device, problem, table, job, sink, reply);
      CHECK(worked);
      CHECK(subnormals_work());
    }
  }
}
