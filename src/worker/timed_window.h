// The calls of a repeat under the clock and in the profiler's range.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "device/device.h"
#include "worker/case_run.h"
#include "worker/repeat_inputs.h"

namespace kbench {

/// What lies between flush and snapshot of a repeat. Waits for nothing, and enqueues nothing of
/// kbench's own inside a clock.
class TimedWindow {
 public:
  explicit TimedWindow(CaseRun& run) : run_(run), device_(run.device()) {}

  /// Enqueues the calls of `pass`, in one stretch, or in one a call where the cache is flushed
  /// before each. False when a call failed; the range is closed all the same.
  bool record(Pass pass, bool range);
  /// What an audit's window holds beside its calls: the copies that bring and take the inputs of
  /// the pass just made. Leaves no input behind.
  void record_copies();
  /// Of all stretches of the last window together; once the device has been waited for.
  double elapsed_ns() const;

 private:
  /// `count` calls from `first` on, under one clock and in one capture range.
  bool record_stretch(Pass pass, std::size_t first, std::size_t count, bool range);

  CaseRun& run_;
  Device& device_;
  std::vector<std::unique_ptr<Stopwatch>> stopwatches_;  // one a stretch
  std::size_t stretches_ = 0;                            // of the last window
};

}  // namespace kbench
