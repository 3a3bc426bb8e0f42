// Chooses how launches are held back and notices when that failed. Knows neither the launches nor
// the clock.
#include "worker/launch_hold.h"

#include <fmt/format.h>

namespace kbench {
namespace {

// Launches take 2 to 4 us each: enough for some three hundred of them.
constexpr double k_delay_ns = 1e6;
// The device's own limit comes after the watchdog's, which can tell what happened.
constexpr double k_device_margin_s = 1;

std::string delay_text() {
  return fmt::format("a wait of {:g} ms on the device stands in front instead", k_delay_ns * 1e-6);
}

}  // namespace

LaunchHold::LaunchHold(Device& device, bool synchronises_host, double limit_s)
    : device_(device), limit_s_(limit_s) {
  hold_ = device.make_hold();
  if (hold_ == nullptr) {
    reason_ = "this device has no queue of launches";
  } else if (synchronises_host) {
    kind_ = HoldKind::delay;
    reason_ = "the kernel says that it waits for the device; " + delay_text();
  } else {
    kind_ = HoldKind::hold;
  }
}

double LaunchHold::delay_ns() const { return kind_ == HoldKind::delay ? k_delay_ns : 0; }

void LaunchHold::place() {
  if (kind_ == HoldKind::delay) device_.wait_on_device(k_delay_ns);
  if (kind_ != HoldKind::hold) return;
  // First the watchdog: where every launch is waited for, placing does not return without it.
  watchdog_.emplace(limit_s_, [hold = hold_.get()] { hold->release(); });
  hold_->place(limit_s_ + k_device_margin_s);
}

void LaunchHold::release() {
  if (!watchdog_) return;
  hold_->release();
  has_bitten_ = watchdog_->call_off();
  watchdog_.reset();
}

bool LaunchHold::held() {
  if (kind_ != HoldKind::hold) return true;
  if (!has_bitten_ && !hold_->expired()) return true;
  kind_ = HoldKind::delay;
  reason_ = fmt::format(
      "the launches did not all return within {:g} s while they were held back (the kernel waits "
      "for the device, or enqueues more than the queue takes); {}",
      limit_s_, delay_text());
  return false;
}

}  // namespace kbench
