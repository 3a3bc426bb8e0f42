// Does one thing after a time, from a thread of its own, unless it is called off before.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace kbench {

class Watchdog {
 public:
  /// `bite` is called once when `limit_s` have passed; it must not throw.
  Watchdog(double limit_s, std::function<void()> bite);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// From here on it does not bite. True when it has.
  bool call_off();

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  bool called_off_ = false;
  bool has_bitten_ = false;
  std::thread thread_;  // the last member: it uses those above
};

}  // namespace kbench
