// Keeps the launches of a repeat from starting until all of them are enqueued.
#pragma once

#include <memory>
#include <optional>

#include "core/launch.h"
#include "device/device.h"
#include "worker/watchdog.h"

namespace kbench {

/// One repeat after the other: `place`, the launches, `release`. A plug-in that waits for the
/// device in between would wait forever: after `limit_s` a watchdog lets everything go, and the
/// device does so by itself a little later.
class LaunchHold {
 public:
  /// `synchronises_host`: the plug-in says that it waits, so a wait of fixed length is used. A
  /// device without a queue holds nothing back.
  LaunchHold(Device& device, bool synchronises_host, double limit_s);

  HoldKind kind() const { return kind_; }
  /// Why the kind is not `hold`, in words; empty when it is.
  const std::string& reason() const { return reason_; }
  double delay_ns() const;
  /// Seconds that a repeat may take longer because of it.
  double limit_s() const { return limit_s_; }

  /// Directly before the launches.
  void place();
  /// Directly behind the last one, also when a launch has failed.
  void release();
  /// Once the device has been waited for: whether the launches were all held back. When not, the
  /// repeat's time says nothing, and from here on a wait of fixed length is used.
  bool held();

 private:
  Device& device_;
  double limit_s_;
  HoldKind kind_ = HoldKind::none;
  std::string reason_;
  std::unique_ptr<Hold> hold_;
  std::optional<Watchdog> watchdog_;
  bool has_bitten_ = false;
};

}  // namespace kbench
