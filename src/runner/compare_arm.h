// One kernel of a comparison with its worker.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "runner/options.h"
#include "runner/plan.h"
#include "runner/session.h"
#include "runner/user_kernel.h"

namespace kbench {

/// Makes the kernel, keeps a worker for it, and runs its part of a case turn by turn. Between turns
/// the worker waits and its device is idle.
class Arm {
 public:
  /// `options.kernel` names the kernel. `problems` and `watch` outlive the object.
  Arm(const Options& options, Problems problems, const Session::Start& start, Watch& watch);

  /// Problem of a kernel that is named by its path, as UserKernel says it.
  std::string problem() { return kernel_.problem(); }
  /// Compiles where that is needed; before be_ready. A source that does not compile fails its
  /// cases.
  void build(const Plan& plan);

  /// Has a worker for that problem; words when there is none. With `must` a missing device or a
  /// kernel that does not fit throws Error instead.
  std::optional<std::string> be_ready(const std::string& problem, bool must);

  /// Sets a case up, up to the first turn; words when it failed.
  std::optional<std::string> begin(const Job& job);
  /// One timed repeat: its time, or empty with `error()` set.
  std::optional<double> turn();
  /// Ends the case, after success and failure alike. Afterwards `error()` says whether it failed.
  const Reply& conclude();

  const std::string& error() const { return error_; }
  const std::optional<DeviceInfo>& device() const { return device_; }
  const KernelInfo& info() const { return info_; }
  /// Path of the file that was compiled, or empty.
  std::string source() const { return source_; }

  void finish() { session_.finish(); }

 private:
  std::optional<std::string> accept(const Hello& hello, const std::string& problem);
  std::string path_for(const std::string& problem) const;
  /// The sample of a Ready; empty with `error_` set for every other answer.
  std::optional<double> take(std::variant<Ready, Reply, Failure> answer);

  Options options_;
  Session session_;
  UserKernel kernel_;
  std::string source_;  // of the plug-in, when it is compiled
  std::string kernel_error_;
  std::optional<Hello> greeting_;
  std::string problem_;  // what the present worker was set up for
  std::optional<DeviceInfo> device_;
  KernelInfo info_;
  Reply reply_;  // of the case that has ended
  std::string error_;
  std::uint64_t nonce_ = 0;  // of the present case
  bool waits_ = false;       // for a turn
};

}  // namespace kbench
