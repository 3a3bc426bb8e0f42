// Leak or no leak, from a few readings. Asks no device.
#include "worker/memory_watch.h"

namespace kbench {
namespace {

// On the host kbench's lists of samples and times grow by some tens of bytes a call.
constexpr double k_least_bytes_per_call = 1024;
// In few calls they, and what libraries take at their first use, weigh more than that.
constexpr std::int64_t k_least_bytes = 64 * 1024;

}  // namespace

void MemoryWatch::add(std::int64_t calls, std::int64_t used_bytes) {
  if (!readings_.empty() && readings_.back().calls == calls) return;
  readings_.push_back({calls, used_bytes});
}

std::optional<double> MemoryWatch::leaked_bytes_per_call() const {
  if (readings_.size() < 3) return std::nullopt;
  const Reading &first = readings_.front(), &last = readings_.back();
  Reading middle = readings_[1];
  for (std::size_t k = 2; k + 1 < readings_.size(); ++k) {
    if (2 * readings_[k].calls <= first.calls + last.calls) middle = readings_[k];
  }
  if (middle.used_bytes <= first.used_bytes || last.used_bytes <= middle.used_bytes) return 0;
  const std::int64_t grown = last.used_bytes - first.used_bytes;
  if (grown < k_least_bytes) return 0;
  const double per_call =
      static_cast<double>(grown) / static_cast<double>(last.calls - first.calls);
  return per_call < k_least_bytes_per_call ? 0 : per_call;
}

}  // namespace kbench
