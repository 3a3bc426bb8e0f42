// The emulated machine's part for warpgroup.cuh: bulk copies that tell a message, and products
// whose right operand lies in shared memory, swizzled. Copies and products are carried out at once.
#ifndef KBENCH_QR_BLOCKED_WARPGROUP_CUH
#define KBENCH_QR_BLOCKED_WARPGROUP_CUH

#include "emulated_device.h"

#define KBENCH_QR_WARPGROUPS 1

namespace emulated {

/// Tells, and that the turn needs so many bytes more.
void tell_with_bytes(const void* message, std::size_t bytes);
void copy_bulk(void* to, const void* from, std::size_t bytes, const void* message);

struct RightOperand {
  const unsigned char* start;
  int step;  // from one tile of eight rows of 128 bytes to the next
};
/// The element in column `column` of row `row` of the rows of 128 bytes from the operand's start
/// on, as the 128-byte swizzle has it.
float element(const RightOperand& operand, int row, int column);
/// d += a b for eight columns of d, as the tensor cores add; b(k, j) is element(j) of the inner k.
void multiply_add(float (&d)[4], const std::uint32_t (&a)[4],
                  const std::function<float(int, int)>& b);

}  // namespace emulated

namespace blocked {

constexpr int k_group_warps = 4;

inline void tell_with_bytes(Message& message, unsigned bytes) {
  emulated::tell_with_bytes(&message, bytes);
}
inline void copy_bulk(void* to, const void* from, unsigned bytes, Message& message) {
  emulated::copy_bulk(to, from, bytes, &message);
}
inline void fence_shared() {}
inline bool elected() { return emulated::thread_index() % 32 == 0; }

using RightOperand = emulated::RightOperand;
inline RightOperand right_operand(const void* start, int step) {
  return {static_cast<const unsigned char*>(start), step};
}
inline RightOperand moved(RightOperand operand, int bytes) {
  return {operand.start + bytes, operand.step};
}
inline void begin_products() {}
inline void commit_products() {}
inline void wait_products() {}
template <class T, int N>
void settle(T (&)[N]) {}

template <int N, class Element>
void multiply_tiles(float (&d)[N], const std::uint32_t (&a)[4], const Element& b) {
  for (int tile = 0; tile < N / 4; ++tile) {
    float part[4] = {d[4 * tile], d[4 * tile + 1], d[4 * tile + 2], d[4 * tile + 3]};
    emulated::multiply_add(part, a, [&](int k, int j) { return b(k, tile * 8 + j); });
    for (int k = 0; k < 4; ++k) d[4 * tile + k] = part[k];
  }
}
inline void multiply_rows(float (&d)[32], const std::uint32_t (&a)[4], RightOperand b) {
  multiply_tiles(d, a, [&](int k, int j) { return emulated::element(b, k, j); });
}
inline void multiply_columns(float (&d)[16], const std::uint32_t (&a)[4], RightOperand b) {
  multiply_tiles(d, a, [&](int k, int j) { return emulated::element(b, j, k); });
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_WARPGROUP_CUH
