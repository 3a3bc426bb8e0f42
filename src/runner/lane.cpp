// Waiting for several lanes at once. Knows descriptors and moments, not what they are for.
#include "runner/lane.h"

#include <algorithm>
#include <chrono>

namespace kbench {

void Waits::add(int fd) {
  if (fd >= 0) entries.push_back({fd, POLLIN, 0});
}

void Waits::add(std::optional<Watch::Clock::time_point> moment) {
  if (moment && (!until || *moment < *until)) until = moment;
}

void Waits::wait(const Watch& watch) {
  add(watch.signal_fd());
  add(watch.deadline());
  constexpr std::int64_t k_longest_ms = 1000000;
  int timeout_ms = -1;
  if (until) {
    const auto left = *until - Watch::Clock::now();
    const auto left_ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, k_longest_ms));
  }
  poll(entries.data(), entries.size(), timeout_ms);
}

}  // namespace kbench
