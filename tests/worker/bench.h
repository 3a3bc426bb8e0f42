// One run of a kernel job on the fakes, and what came of it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "fake_device.h"
#include "fake_problem.h"
#include "worker/measure.h"

namespace kbench::test {

/// One run of a job on the fakes.
struct Bench {
  FakeDevice device;
  FakeProblem problem{device.diary};
  FakeKernel kernel;
  kbench_kernel table = k_fake_kernel;
  Job job;
  Reply reply;
  std::vector<Event> events;
  TurnSource turns;  ///< of a paced job
  std::string error;
  bool sticky = false;

  Bench() {
    kernel.diary = &device.diary;
    job.token = std::string("t");
    job.kind = JobKind::measure;
    job.spec.batch = 2;
    job.spec.n = 3;
    job.seeds = {11, 12};
    job.limits = {200, 1e10};
    job.exact_repeats = 1;
    job.call_timeout_s = 60;
  }

  void run() {
    current_kernel = &kernel;
    const EventSink sink = [this](const Event& event) {
      events.push_back(event);
      device.diary.push_back("event " + event.phase);
    };
    try {
      run_kernel_job(device, problem, table, job, sink, reply, turns);
    } catch (const DeviceError& failure) {
      error = failure.what();
      sticky = failure.sticky();
    } catch (const Error& failure) {
      error = failure.what();
    }
  }

  /// The diary between the `nth` (from 0) occurrence of two entries, both included.
  Diary between(const std::string& first, const std::string& last, int nth = 0) const {
    auto from = device.diary.begin();
    for (int i = 0;; ++i, ++from) {
      from = std::find(from, device.diary.end(), first);
      if (i == nth) break;
    }
    const auto to = std::find(from, device.diary.end(), last);
    return Diary(from, to == device.diary.end() ? to : to + 1);
  }
  std::int64_t count(const std::string& entry) const {
    return std::count(device.diary.begin(), device.diary.end(), entry);
  }
};

}  // namespace kbench::test
