// One case in front of one kernel: set-up, the state before a repeat, and the judgement after it.
// Which calls are made, when and under which clock is measure.cpp's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/message.h"
#include "device/device.h"
#include "kbench_kernel.h"
#include "problems/problem.h"
#include "worker/case_arrays.h"
#include "worker/events.h"
#include "worker/kernel_session.h"

namespace kbench {

/// Holds everything of a case; its destruction frees all of it. Fills `reply` as it goes, so that a
/// failure keeps what is known by then. Failures of the kernel throw Error(case_failed).
class CaseRun {
 public:
  CaseRun(Device& device, const Problem& problem, const kbench_kernel& kernel, const Job& job,
          const Progress& progress, Reply& reply);

  /// Memory test, inputs (one per seed), copies, outputs, create, workspace, prepare, checker.
  void set_up();
  /// Waits, restores inputs, poisons outputs and workspace, looks at the guards.
  void begin_repeat();
  /// Throws when a guard is damaged or any input has changed.
  void inspect();
  /// Judges the output of call j against its pristine input. `repeat` 0: not a timed repeat; then
  /// the reported figures are computed too.
  void check_output(std::int64_t j, std::int64_t repeat);
  /// Takes the plug-in's report and closes the figures.
  void finish();
  /// After a sticky device error.
  void abandon() noexcept;

  Device& device() { return device_; }
  const Job& job() const { return job_; }
  const Progress& progress() const { return progress_; }
  Reply& reply() { return reply_; }
  KernelSession& session() { return session_; }
  std::span<const kbench_call> calls() const { return arrays_->calls(); }
  double call_limit_s() const { return call_limit_s_; }

 private:
  /// Saves the arrays of call j where that is asked for, and throws. A damaged guard goes before
  /// any other reason.
  [[noreturn]] void fail(std::int64_t j, std::string text);
  void take_figures(const std::vector<Figure>& figures);
  std::string where(std::int64_t j, std::int64_t repeat) const;

  Device& device_;
  const Problem& problem_;
  const kbench_kernel& kernel_;
  const Job& job_;
  const Progress& progress_;
  Reply& reply_;
  double call_limit_s_;
  std::optional<CaseArrays> arrays_;
  std::unique_ptr<Checker> checker_;
  std::vector<double> recheck_ms_;
  bool checked_ = false;
  /// Last, so that the plug-in's state goes before the arrays it knows.
  KernelSession session_;
};

}  // namespace kbench
