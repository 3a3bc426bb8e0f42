// The number that a run's fresh inputs are drawn from.
#pragma once

#include <cstdint>

namespace kbench {

/// At random, at most 53 bits, so that every reader of JSON keeps the number as it is.
std::uint64_t draw_nonce();

}  // namespace kbench
