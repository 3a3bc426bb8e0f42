// Seeds: the secret pairing of POPCORN_SEED and the seeds of the measured loop.
#pragma once

#include <cstdint>

namespace kbench {

/// a + (a + s)(a + s + 1) / 2, the pairing of a case seed with the secret seed s (also when s = 0).
/// Throws Error(case_file) where the result or an intermediate leaves [0, 2^63).
std::int64_t combine_seed(std::int64_t case_seed, std::int64_t secret_seed);

/// Seed of input j (from 0) of a measured case: seed + 42 (j + 1). Throws Error(case_file) on
/// overflow.
std::int64_t measured_seed(std::int64_t case_seed, std::int64_t j);

/// Number of inputs of a measured case: clamp(256 MiB / (4 batch n n), 1, 50).
std::int64_t input_count(std::int64_t batch, std::int64_t n);

}  // namespace kbench
