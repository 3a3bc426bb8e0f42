// What a run draws at random: the number that its fresh inputs follow from, and words nobody can
// guess.
#pragma once

#include <cstdint>
#include <string>

namespace kbench {

/// At random, at most 53 bits, so that every reader of JSON keeps the number as it is.
std::uint64_t draw_nonce();

/// What is said behind a failure that fresh inputs may have brought about.
std::string nonce_advice(std::uint64_t nonce);

/// 32 hexadecimal digits. Throws Error(usage) naming `purpose` (`a token`) when the system has
/// none.
std::string random_word(const char* purpose);

}  // namespace kbench
