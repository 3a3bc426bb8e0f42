// Signals and the run's deadline as things to wait for. Knows neither workers nor cases.
#include "runner/watch.h"

#include <fmt/core.h>
#include <sys/signalfd.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace kbench {
namespace {

/// A thread that a library started before the signals were blocked may be given one. It blocks the
/// signal for itself and passes it on, until it waits where the descriptor finds it.
void pass_on(int signal, siginfo_t*, void* context) {
  sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal);
  kill(getpid(), signal);
}

}  // namespace

Watch::Watch(Clock::time_point start) : start_(start) {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : k_signals) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (std::size_t i = 0; i < k_signals.size(); ++i) {
    sigaction(k_signals[i], &action, &actions_before_[i]);
  }
  fd_ = Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) {
    throw Error(ExitCode::usage, fmt::format("cannot watch signals (signalfd: {}); raise the limit "
                                             "of open files",
                                             std::strerror(errno)));
  }
}

Watch::~Watch() {
  // Signals that came late must not strike when they are unblocked.
  must_stop();
  for (std::size_t i = 0; i < k_signals.size(); ++i) {
    sigaction(k_signals[i], &actions_before_[i], nullptr);
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<Watch::Clock::time_point> Watch::deadline() const {
  if (!limit_s_) return std::nullopt;
  // A task file may name more seconds than a clock can count.
  constexpr double k_longest_s = 1e9;
  const std::chrono::duration<double> limit(std::min(*limit_s_, k_longest_s));
  return start_ + std::chrono::duration_cast<Clock::duration>(limit);
}

bool Watch::must_stop() {
  signalfd_siginfo info;
  while (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    signalled_ = signalled_ || !expired_;
  }
  if (!signalled_ && limit_s_ && Clock::now() >= *deadline()) expired_ = true;
  return signalled_ || expired_;
}

std::int64_t monotonic_ns() {
  const auto since = Watch::Clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

std::string Watch::short_reason() const { return signalled_ ? "interrupted" : "time limit"; }

std::string Watch::reason() const {
  return signalled_ ? short_reason() : fmt::format("time limit of {:g} s", limit_s_.value_or(0));
}

}  // namespace kbench
