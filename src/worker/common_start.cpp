// Keeps the device back until a moment and says when it went on. Knows neither who else starts then
// nor what is started.
#include "worker/common_start.h"

#include <algorithm>
#include <chrono>

namespace kbench {
namespace {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC

constexpr std::int64_t k_longest_ns = 10'000'000'000;
/// A sleep may end so much late; the rest is spent looking at the clock.
constexpr std::int64_t k_spin_ns = 300'000;
/// How much later than the moment the device gives up by itself.
constexpr std::int64_t k_device_margin_ns = 2'000'000'000;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

void wait_until(std::int64_t moment_ns) {
  std::this_thread::sleep_until(Clock::time_point(std::chrono::nanoseconds(moment_ns - k_spin_ns)));
  while (now_ns() < moment_ns) {
  }
}

}  // namespace

CommonStart::~CommonStart() {
  if (thread_.joinable()) thread_.join();
}

double CommonStart::limit_s() {
  return 1e-9 * static_cast<double>(k_longest_ns + k_device_margin_ns);
}

void CommonStart::place(std::int64_t start_ns) {
  const std::int64_t now = now_ns();
  const std::int64_t moment = std::clamp(start_ns, now, now + k_longest_ns);
  if (hold_ == nullptr) {
    wait_until(moment);
    bracket_.after_ns = bracket_.before_ns = now_ns();
    return;
  }
  placed_ns_ = now;
  hold_->place(1e-9 * static_cast<double>(moment - now + k_device_margin_ns));
  thread_ = std::thread([this, moment] { let_go_at(moment); });
}

/// The device passes between the two looks at the clock: not before it was let go, and by the time
/// that its word of having left is seen. So no clock of the device is needed.
void CommonStart::let_go_at(std::int64_t start_ns) {
  wait_until(start_ns);
  bracket_.after_ns = now_ns();
  hold_->release();
  const std::int64_t deadline = bracket_.after_ns + k_device_margin_ns;
  do {
    bracket_.before_ns = now_ns();
  } while (!hold_->left() && bracket_.before_ns < deadline);
  bracket_.before_ns = now_ns();
}

StartBracket CommonStart::finish() {
  if (thread_.joinable()) thread_.join();
  if (hold_ != nullptr && hold_->expired()) bracket_.after_ns = placed_ns_;
  return bracket_;
}

}  // namespace kbench
