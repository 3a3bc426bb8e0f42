// One call of the `blocked` kernel of qr_v2 on the emulated device, and the residuals of its
// result.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "emulated_device.h"

namespace kbench {

/// What the plan is told of the device; an H200 unless a test says otherwise.
struct EmulatedFacts {
  int multiprocessors = 132;
  bool clusters = true;
  bool fast_double = true;
  bool look_ahead = false;
  bool pairs = false;
  bool warpgroups = false;
};

struct Factored {
  std::vector<float> h, tau;  // [batch, n, n] row-major, [batch, n]
  std::vector<int> doubtful;  // [blocks, batch]: matrices left to the exact panels, block by block
};

/// a: [batch, n, n] row-major. All device memory but a holds NaN before the call.
Factored factor_emulated(const std::vector<float>& a, std::int64_t batch, std::int64_t n,
                         const EmulatedFacts& facts, emulated::Order order);

/// The first two launches that touch the same memory, one of them writing it, without an order
/// between them, or one whose branch begins without waiting for any; empty if there are none.
std::string unordered_launches(std::int64_t batch, std::int64_t n, const EmulatedFacts& facts);

/// The gates of qr_v2 as fractions: scaled residual of matrix `index` over its limit (20 and 100).
struct Gates {
  double factor, orthogonality;
};
Gates gates_of(const std::vector<float>& a, const Factored& factored, std::int64_t n,
               std::int64_t index);

}  // namespace kbench
