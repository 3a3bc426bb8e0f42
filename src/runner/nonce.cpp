// Draws a run's nonce. Knows nothing of inputs.
#include "runner/nonce.h"

#include <random>

namespace kbench {

std::uint64_t draw_nonce() {
  std::random_device random;
  static_assert(std::random_device::min() == 0 && std::random_device::max() == 0xFFFFFFFF);
  const std::uint64_t high = random();
  return (high << 32 | random()) >> 11;
}

}  // namespace kbench
