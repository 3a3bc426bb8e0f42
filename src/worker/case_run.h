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
#include "worker/repeat_inputs.h"

namespace kbench {

/// Holds everything of a case; its destruction frees all of it. Fills `reply` as it goes, so that a
/// failure keeps what is known by then. Failures of the kernel throw Error(case_failed).
class CaseRun {
 public:
  CaseRun(Device& device, const Problem& problem, const kbench_kernel& kernel, const Job& job,
          const Progress& progress, Reply& reply);

  /// Memory test, inputs (one per seed), copies, outputs, create, workspace, prepare, checker.
  void set_up();
  /// Waits, chooses and writes the inputs of `pass`, poisons outputs and workspace, looks at the
  /// guards. In an audit pass the inputs are poisoned too, and `bring_input` brings each.
  void begin(Pass pass);
  /// Directly before call j of an audit pass: enqueues NaN over the input of the call before and
  /// writes input j, so that each is there during its own call alone.
  void bring_input(std::int64_t j);
  /// Enqueues a copy of all outputs; from here to the next pass it is what is judged.
  void take_snapshot();
  /// Throws when a guard is damaged, an output has changed since the snapshot, or any input has.
  /// `rest_ns`: the wait for the device behind that for the stream. In an audit pass that is what
  /// such a wait costs; in a timed one it must not be much more than that, and often.
  /// `window_ns`: what the clock said, for all calls together.
  void inspect(double rest_ns = 0, double window_ns = 0);
  /// Throws when an output has changed since the snapshot.
  void require_finished(double rest_ns = 0);
  /// Judges the output of call j against its input. In a pass that is no timed one the reported
  /// figures are computed too.
  void check_output(std::int64_t j);
  /// In a cut audit that ended after `made` calls: throws when the output of call j, which was not
  /// made, is written.
  void require_untouched(std::int64_t j, std::int64_t made);
  /// Throws what the plug-in did to the device, with `who` as the subject. DeviceError when the
  /// device is lost.
  void require_undisturbed(const std::string& who);
  /// The same after a device failure, where a device that answers no question explains nothing.
  void explain_failure(const std::string& who);
  /// Notes the floor, and throws when the mean of the samples lies below it.
  void judge_time();
  /// Takes the plug-in's report and closes the figures.
  void finish();
  /// After a sticky device error.
  void abandon() noexcept;

  Device& device() { return device_; }
  const Job& job() const { return job_; }
  const Progress& progress() const { return progress_; }
  Reply& reply() { return reply_; }
  bool kernel_waits() const { return (kernel_.flags & KBENCH_SYNCHRONISES_HOST) != 0; }
  KernelSession& session() { return session_; }
  std::span<const kbench_call> calls() const { return arrays_->calls(); }
  double call_limit_s() const { return call_limit_s_; }
  bool is_audit() const { return pass_.stage == Stage::audit || pass_.stage == Stage::cut_audit; }

 private:
  /// Saves the arrays of call j where that is asked for, and throws. A damaged guard goes before
  /// any other reason.
  [[noreturn]] void fail(std::int64_t j, std::string text);
  void require_undisturbed(const std::string& who, const Disturbance& found);
  void take_figures(const std::vector<Figure>& figures);
  bool is_repeat() const {
    return pass_.stage == Stage::timed || pass_.stage == Stage::queued || is_audit();
  }
  bool input_is_intact(std::int64_t j);
  void require_quiet(double rest_ns, double window_ns);
  std::span<const float* const> judged(std::int64_t j) const;
  /// ` (call 2 of repeat 3, seed 84)`.
  std::string where(std::int64_t j) const;

  Device& device_;
  const Problem& problem_;
  const kbench_kernel& kernel_;
  const Job& job_;
  const Progress& progress_;
  Reply& reply_;
  double call_limit_s_;
  Pass pass_;
  bool has_snapshot_ = false;
  /// How long the device was waited for behind the stream, and what the clock had said.
  struct Rest {
    double wait_ns, window_ns;
  };
  std::vector<Rest> rests_;              // of the timed repeats
  std::optional<double> rest_price_ns_;  // the longest wait of an audit, when nothing ran any more
  std::optional<CaseArrays> arrays_;
  std::optional<RepeatInputs> inputs_;
  std::unique_ptr<Checker> checker_;
  std::vector<double> recheck_ms_;
  bool checked_ = false;
  /// Last, so that the plug-in's state goes before the arrays it knows.
  KernelSession session_;
};

}  // namespace kbench
