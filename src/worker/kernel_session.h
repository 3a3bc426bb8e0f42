// One kernel on one shape: create ... destroy, with every way a plug-in can fail turned into words.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "device/device.h"
#include "kbench_kernel.h"
#include "worker/events.h"
#include "worker/float_environment.h"

namespace kbench {

/// Owns the plug-in's state of one case. All calls come from the thread that made the session.
class KernelSession {
 public:
  /// `limit_s`: seconds that one call of the plug-in may take.
  KernelSession(Device& device, const kbench_kernel& kernel, const Progress& progress,
                double limit_s);
  ~KernelSession();
  KernelSession(const KernelSession&) = delete;
  KernelSession& operator=(const KernelSession&) = delete;

  /// Where calls leave their message; valid as long as the session.
  char* error_text() { return error_.data(); }
  std::uint32_t error_size() const { return static_cast<std::uint32_t>(error_.size()); }

  /// Untimed set-up; absent functions are skipped. Each throws Error(case_failed) or DeviceError.
  void create(const kbench_call& shapes);
  std::int64_t workspace_bytes();
  void prepare(std::span<const kbench_call> calls);

  /// Enqueues one custom_kernel call. False when it failed; `throw_failure` then says how. Adds
  /// nothing to a CUDA call; on the host the floating-point environment is put back.
  bool enqueue(const kbench_call& call) noexcept {
    const bool succeeded = contain([&] { return kernel_.custom_kernel(state_, &call); });
    if (on_host_) environment_.restore();
    return succeeded;
  }
  /// Clears the message of the last failure. Before a stretch of calls, outside the timed window.
  void expect_calls() { error_[0] = '\0'; }
  /// After a stretch of calls: puts the floating-point environment back.
  void calls_done() const noexcept { environment_.restore(); }

  /// `<what> failed (code 3): <the plug-in's message>`. Throws DeviceError when the device has
  /// failed too, else Error(case_failed).
  [[noreturn]] void throw_failure(const std::string& what);

  /// The plug-in's own line, or empty.
  std::string report();
  /// Leaves the plug-in's state alone: after a sticky device error `destroy` may hang or crash.
  void abandon() noexcept { abandoned_ = true; }

 private:
  /// Runs a function of the plug-in; no exception of it gets out.
  template <class Function>
  bool contain(Function function) noexcept;
  /// Announces and runs an untimed function; throws when it or the device fails.
  template <class Function>
  void run_untimed(const char* what, Function function);

  Device& device_;
  const kbench_kernel& kernel_;
  const Progress& progress_;
  double limit_s_;
  bool on_host_;
  bool created_ = false;
  bool abandoned_ = false;
  void* state_ = nullptr;
  int code_ = 0;
  std::string exception_;
  bool threw_ = false;
  std::array<char, 1024> error_{};
  FloatEnvironment environment_;
};

template <class Function>
bool KernelSession::contain(Function function) noexcept {
  try {
    code_ = function();
    return code_ == 0;
  } catch (const std::exception& error) {
    exception_ = error.what();
  } catch (...) {
    exception_ = "not a std::exception";
  }
  threw_ = true;
  return false;
}

}  // namespace kbench
