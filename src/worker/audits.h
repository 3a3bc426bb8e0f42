// When audit repeats come, of which kind, and how long they are: at random, out of the run's nonce.
#pragma once

#include <cstdint>

#include "core/message.h"
#include "worker/repeat_inputs.h"

namespace kbench {

/// Every measured case has so many, and so many timed repeats at least.
constexpr std::int64_t k_least_audits = 2, k_least_repeats = 3;

/// The timed repeat that audit repeat `number` (from 1) comes before at the latest: two among the
/// first three, which every loop has, then one at random in every eight.
std::int64_t audit_place(const Job& job, std::int64_t number);

/// One of the first two audits is cut, the other is not; later ones are as it happens. A repeat of
/// one call cannot be cut.
Stage audit_stage(const Job& job, std::int64_t number);

/// The calls that the pass makes: all of them, but in a cut audit 1 to count - 1.
std::int64_t calls_of(const Job& job, Pass pass);

}  // namespace kbench
