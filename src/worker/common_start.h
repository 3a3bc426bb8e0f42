// Starts a repeat at a moment that other workers were told too.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>

#include "core/message.h"
#include "device/device.h"

namespace kbench {

/// One repeat after the other: `place`, the launches, `finish`. On a device with a queue the
/// launches wait behind a hold that a thread lets go at the moment, whether or not all of them are
/// enqueued by then, so a kernel that waits for the device itself cannot block it. A device without
/// a queue begins when `place` returns.
class CommonStart {
 public:
  /// Without `may_hold` nothing is held back: the launches begin at the moment, as without a queue.
  CommonStart(Device& device, bool may_hold) : hold_(may_hold ? device.make_hold() : nullptr) {}
  ~CommonStart();
  CommonStart(const CommonStart&) = delete;
  CommonStart& operator=(const CommonStart&) = delete;

  /// Seconds that a repeat may take longer because of it.
  static double limit_s();

  /// Directly before the launches. `start_ns` by CLOCK_MONOTONIC; a moment that has passed means
  /// now, one that is too far away means limit_s() from now.
  void place(std::int64_t start_ns);
  /// Directly behind the launches, also when one has failed: waits until the device has begun. A
  /// device that gave up waiting by itself may have begun at any time since `place`.
  StartBracket finish();

 private:
  void let_go_at(std::int64_t start_ns);

  std::unique_ptr<Hold> hold_;
  std::thread thread_;
  StartBracket bracket_;
  std::int64_t placed_ns_ = 0;
};

}  // namespace kbench
