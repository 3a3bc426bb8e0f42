// The schedule of audit repeats. A kernel that knew it could behave for their sake, so all of it is
// drawn from the nonce. Calls nothing and knows no device.
#include "worker/audits.h"

namespace kbench {
namespace {

constexpr std::int64_t k_repeats_of_audit = 8;

std::uint64_t audit_random(const Job& job, std::int64_t number, std::int64_t purpose) {
  return fresh_seed(job.spec.seed, job.nonce, {Stage::audit, number}, purpose);
}

}  // namespace

std::int64_t audit_place(const Job& job, std::int64_t number) {
  const std::uint64_t random = audit_random(job, number, -1);
  const auto below = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random % static_cast<std::uint64_t>(bound));
  };
  if (number <= k_least_audits) return 1 + below(k_least_repeats);
  return k_repeats_of_audit * (number - k_least_audits) + 1 + below(k_repeats_of_audit);
}

Stage audit_stage(const Job& job, std::int64_t number) {
  if (job.seeds.size() < 2) return Stage::audit;
  const bool first_is_cut = audit_random(job, 1, -2) % 2 == 0;
  if (number == 1) return first_is_cut ? Stage::cut_audit : Stage::audit;
  if (number == 2) return first_is_cut ? Stage::audit : Stage::cut_audit;
  return audit_random(job, number, -2) % 2 == 0 ? Stage::cut_audit : Stage::audit;
}

std::int64_t calls_of(const Job& job, Pass pass) {
  const auto count = static_cast<std::int64_t>(job.seeds.size());
  if (pass.stage != Stage::cut_audit) return count;
  return 1 + static_cast<std::int64_t>(audit_random(job, pass.number, -3) %
                                       static_cast<std::uint64_t>(count - 1));
}

}  // namespace kbench
