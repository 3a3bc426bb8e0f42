// Whether the calls of timed repeats do as much work as those of audit repeats.
#pragma once

#include <cstdint>
#include <optional>

#include "core/message.h"

namespace kbench {

/// An audit shows each input during its own call alone. A kernel that has its answers from
/// elsewhere in the timed repeats (worked out before the clock started, in another call, or known
/// from a matrix that this one was made of) and works honestly where it finds none is right in both
/// and slower in audits. Nothing that it does can make honest work look faster there.
class AuditTimes {
 public:
  explicit AuditTimes(DeviceKind device);
  /// A repeat of new inputs, per call and with the copies that bring them.
  void add(double ns_per_call);
  /// The same copies without the calls.
  void set_copies(double ns_per_call) { copies_ns_ = ns_per_call; }
  bool knows_copies() const { return copies_ns_.has_value(); }

  std::int64_t count() const { return count_; }
  /// The fastest audit without its copies; empty before the first.
  std::optional<double> call_ns() const;
  /// Whether even the fastest audit is so much slower than `timed_ns` per call that the timed
  /// repeats did not do the work. One audit may be disturbed: ask after more.
  bool tells_apart(double timed_ns) const;
  /// Throws Error(case_failed) when `tells_apart`.
  void require_same_work(double timed_ns) const;

 private:
  double slack_ns_;
  std::int64_t count_ = 0;
  double least_ns_ = 0;
  std::optional<double> copies_ns_;
};

}  // namespace kbench
