// Draws a run's nonce and its unguessable words. Knows nothing of inputs or channels.
#include "runner/nonce.h"

#include <fmt/core.h>
#include <sys/random.h>

#include <array>
#include <random>

#include "core/error.h"

namespace kbench {

std::uint64_t draw_nonce() {
  std::random_device random;
  static_assert(std::random_device::min() == 0 && std::random_device::max() == 0xFFFFFFFF);
  const std::uint64_t high = random();
  return (high << 32 | random()) >> 11;
}

std::string random_word(const char* purpose) {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error(ExitCode::usage,
                fmt::format("no random numbers for {} (getrandom); check the system", purpose));
  }
  std::string word;
  for (unsigned char byte : bytes) word += fmt::format("{:02x}", byte);
  return word;
}

std::string nonce_advice(std::uint64_t nonce) {
  return fmt::format("; reproduce with --nonce {}", nonce);
}

}  // namespace kbench
