// What may end a run early: the run's time limit and the signals SIGTERM, SIGINT and SIGHUP.
#pragma once

#include <signal.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "runner/fd.h"

namespace kbench {

/// Takes the three signals through a descriptor while it lives, so that the verdict is always
/// written, whichever thread of this process a signal is given to. Later signals change nothing:
/// what is left to do is short.
class Watch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Watch(Clock::time_point start);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  void limit(std::optional<double> seconds) { limit_s_ = seconds; }

  int signal_fd() const { return fd_.get(); }
  std::optional<Clock::time_point> deadline() const;
  /// True once the run must end; stays true.
  bool must_stop();
  /// `interrupted` or `time limit`, once must_stop() is true.
  std::string short_reason() const;
  /// `interrupted` or `time limit of 60 s`.
  std::string reason() const;

 private:
  static constexpr std::array<int, 3> k_signals = {SIGTERM, SIGINT, SIGHUP};

  Clock::time_point start_;
  std::optional<double> limit_s_;
  sigset_t before_{};
  std::array<struct sigaction, k_signals.size()> actions_before_{};
  Fd fd_;
  bool signalled_ = false;
  bool expired_ = false;
};

/// CLOCK_MONOTONIC in nanoseconds.
std::int64_t monotonic_ns();

}  // namespace kbench
