// Compares audits with timed repeats. Runs nothing and knows no device.
#include "worker/audit_times.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace kbench {
namespace {

// Copies between the calls take the cache and the front end from them: a few microseconds between
// kernels of one stream, tens where a processor's threads have to come back to the call.
constexpr double k_factor = 2, k_device_slack_ns = 5e3, k_host_slack_ns = 100e3;

}  // namespace

AuditTimes::AuditTimes(DeviceKind device)
    : slack_ns_(device == DeviceKind::host ? k_host_slack_ns : k_device_slack_ns) {}

void AuditTimes::add(double ns_per_call) {
  least_ns_ = count_ == 0 ? ns_per_call : std::min(least_ns_, ns_per_call);
  ++count_;
}

std::optional<double> AuditTimes::call_ns() const {
  if (count_ == 0) return std::nullopt;
  return std::max(0.0, least_ns_ - copies_ns_.value_or(least_ns_));
}

bool AuditTimes::tells_apart(double timed_ns) const {
  return call_ns().value_or(0) > k_factor * timed_ns + slack_ns_;
}

void AuditTimes::require_same_work(double timed_ns) const {
  if (!tells_apart(timed_ns)) return;
  throw Error(ExitCode::case_failed,
              fmt::format("a call takes {:.2f} us in timed repeats and at least {:.2f} us in {} "
                          "audit repeats, where its input is new and there during that call alone; "
                          "each call does its own work, within the call",
                          timed_ns * 1e-3, *call_ns() * 1e-3, count_));
}

}  // namespace kbench
