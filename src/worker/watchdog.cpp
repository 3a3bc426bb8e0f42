// A thread that waits for a time or for being called off. Knows nothing of what it guards.
#include "worker/watchdog.h"

#include <chrono>
#include <utility>

namespace kbench {

Watchdog::Watchdog(double limit_s, std::function<void()> bite)
    : thread_([this, limit = std::chrono::duration<double>(limit_s), bite = std::move(bite)] {
        std::unique_lock lock(mutex_);
        if (news_.wait_for(lock, limit, [this] { return called_off_; })) return;
        has_bitten_ = true;
        bite();
      }) {}

Watchdog::~Watchdog() { call_off(); }

bool Watchdog::call_off() {
  {
    const std::lock_guard lock(mutex_);
    called_off_ = true;
  }
  news_.notify_one();
  if (thread_.joinable()) thread_.join();
  return has_bitten_;
}

}  // namespace kbench
