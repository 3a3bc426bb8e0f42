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

/// Reflectors of the current block as the tensor cores of Hopper read them from shared memory: of
/// every eight rows the high parts, then the low ones, each row k_block elements of which the units
/// of 16 bytes are exchanged by the row's number (the 128-byte swizzle). So rows from a multiple of
/// eight on are one piece of memory, and a matrix has room for a multiple of eight.
constexpr int k_group_rows = 8;
constexpr int k_low_part = k_group_rows * k_block;  // from a high part to its low one
constexpr int k_group_elements = 2 * k_low_part;

__host__ __device__ constexpr std::int64_t reflector_elements(std::int64_t n) {
  return (n + k_group_rows - 1) / k_group_rows * k_group_elements;
}
/// Where the high part of an element is, `row` counted from a multiple of eight.
__host__ __device__ constexpr std::int64_t reflector_at(std::int64_t row, int column) {
  return row / k_group_rows * k_group_elements + row % k_group_rows * k_block +
         ((column / 8) ^ static_cast<int>(row % k_group_rows)) * 8 + column % 8;
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
