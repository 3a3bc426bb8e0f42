// Column-wise reductions over the 32 rows a warp holds: every lane brings W values, and lane l
// leaves with the reduced value number l mod W. 31 shuffles for W = 32 where a butterfly per value
// would take 160.
#ifndef KBENCH_QR_BLOCKED_REDUCE_CUH
#define KBENCH_QR_BLOCKED_REDUCE_CUH

#include "primitives.cuh"

namespace blocked {

struct Sum {
  static __device__ __forceinline__ float of(float a, float b) { return a + b; }
};
struct Largest {
  static __device__ __forceinline__ unsigned of(unsigned a, unsigned b) { return a > b ? a : b; }
};

/// Lanes with `bit` set keep `upper`, the others `lower`; each adds what its partner gave away.
template <class Op, class V>
__device__ __forceinline__ V fold(V lower, V upper, int bit, int lane) {
  const bool is_upper = (lane & bit) != 0;
  const V kept = is_upper ? upper : lower;
  const V given = is_upper ? lower : upper;
  return Op::of(kept, __shfl_xor_sync(k_full_warp, given, bit));
}

/// W in {8, 16, 24, 32}. For W = 24 lanes 24..31 receive zeros' reduction; for W = 8 and 16 the
/// result is repeated every W lanes. The order of the additions is fixed, so are the bits.
template <class Op, int W, class V>
__device__ __forceinline__ V reduce_columns(const V (&value)[W], int lane) {
  static_assert(W % 8 == 0 && W >= 8 && W <= 32);
  V group[4] = {};
#pragma unroll
  for (int g = 0; g < W / 8; ++g) {
    V four[4], two[2];
#pragma unroll
    for (int k = 0; k < 4; ++k) four[k] = fold<Op>(value[8 * g + k], value[8 * g + k + 4], 4, lane);
#pragma unroll
    for (int k = 0; k < 2; ++k) two[k] = fold<Op>(four[k], four[k + 2], 2, lane);
    group[g] = fold<Op>(two[0], two[1], 1, lane);
  }
  if constexpr (W == 8) {
    const V half = Op::of(group[0], __shfl_xor_sync(k_full_warp, group[0], 8));
    return Op::of(half, __shfl_xor_sync(k_full_warp, half, 16));
  } else if constexpr (W == 16) {
    const V half = fold<Op>(group[0], group[1], 8, lane);
    return Op::of(half, __shfl_xor_sync(k_full_warp, half, 16));
  } else {
    const V even = fold<Op>(group[0], group[2], 16, lane);
    const V odd = fold<Op>(group[1], group[3], 16, lane);
    return fold<Op>(even, odd, 8, lane);
  }
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_REDUCE_CUH
