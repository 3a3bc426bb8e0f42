// Sizes and memory layouts shared by the kernels of the blocked QR: what lies where in the
// workspace, and the BF16 pairs that stand for FP32 operands.
#ifndef KBENCH_QR_BLOCKED_LAYOUT_CUH
#define KBENCH_QR_BLOCKED_LAYOUT_CUH

#include <cstdint>

#include "primitives.cuh"

namespace blocked {

constexpr int k_panel = 32;          // columns factored by one panel launch
constexpr int k_block = 64;          // columns of a block reflector: two panels
constexpr int k_pair = 2 * k_block;  // reflectors of two blocks that a wide apply takes at once

/// Reflectors of the current block, one row per matrix row: k_block high parts, k_block low parts.
constexpr int k_reflector_pitch = 2 * k_block;

__host__ __device__ constexpr std::int64_t reflector_elements(std::int64_t n) {
  return n * k_reflector_pitch;
}
constexpr int k_factor_elements = k_block * k_block;  // T, FP32, row-major, upper triangular

/// Leading dimension of a BF16 tile in shared memory with `columns` (a multiple of 16) columns: the
/// rows of an 8x8 tile then start in eight different groups of four banks.
constexpr int padded(int columns) { return columns + 8; }

/// x = high + low + e with |e| <= 2^-18 |x|: two BF16 numbers hold 16 to 17 bits of an FP32.
struct BfPair {
  std::uint32_t high, low;  // two elements each, the first in the low half
};
__device__ __forceinline__ BfPair split(float first, float second) {
  const std::uint32_t high = pack_bf16(first, second);
  const float first_high = __uint_as_float(high << 16);
  const float second_high = __uint_as_float(high & 0xffff0000u);
  return {high, pack_bf16(first - first_high, second - second_high)};
}

/// |x| as an integer that orders like |x|, with every NaN above every number.
__device__ __forceinline__ unsigned magnitude(float x) { return __float_as_uint(x) & 0x7fffffffu; }

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_LAYOUT_CUH
