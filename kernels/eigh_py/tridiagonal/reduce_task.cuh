// What a reduction to tridiagonal form takes and leaves, whoever carries it out, and the two rules
// that all of them share: how a matrix is scaled and what a reflector is.
#ifndef KBENCH_EIGH_TRIDIAGONAL_REDUCE_TASK_CUH
#define KBENCH_EIGH_TRIDIAGONAL_REDUCE_TASK_CUH

#include <cstdint>

#include "primitives.cuh"

namespace tridiagonal {

/// What one launch reduces. T = Q^T (up A) Q, up a power of two that brings A's largest magnitude
/// near 1; Q = H_0 H_1 ..., H_j = I - tau_j v_j v_j^T, v_j zero above row j + 1 and 1 there.
struct ReduceTask {
  const float* a;          // [batch, n, n] symmetric; the lower triangle is read
  float* reflectors;       // [batch, n, n]: v_j in row j, for j < n - 1
  float* tau;              // [batch, n]: tau_j for j < n - 1
  float* diagonal;         // [batch, n]
  float* coupling;         // [batch, n]: between j and j + 1, for j < n - 1
  float* down;             // [batch]: 1 / up; 0 for a matrix of zeros
  float4* spill;           // [batch, ranks, spilled, k_block_elements / 4]
  unsigned char* outside;  // [batch, ranks, outside_bytes of the layout]
  int n;
  int ranks;     // thread blocks per matrix
  int resident;  // blocks that a thread block keeps in shared memory, after one a warp in registers
  int spilled;   // blocks beyond those
};

/// Powers of two: `up` brings a matrix whose largest magnitude has these bits into [1, 2), or as
/// near as both factors stay normal; `down` is its exact inverse.
struct ScalePair {
  float up, down;
};
__device__ __forceinline__ ScalePair scale_of(unsigned largest) {
  const int wanted = 254 - static_cast<int>(largest >> 23);
  const int exponent = wanted < 1 ? 1 : wanted > 253 ? 253 : wanted;
  return {float_of(static_cast<unsigned>(exponent) << 23),
          float_of(static_cast<unsigned>(254 - exponent) << 23)};
}

/// H = I - tau v v^T with v = (1, inverse * tail) and H (alpha, tail)^T = (beta, 0)^T.
struct Reflector {
  float tau, inverse, beta;
};
/// Tails below this are beyond what FP32 resolves of a matrix of magnitude 1, by far; without them
/// no square that matters is subnormal.
constexpr float k_no_tail = 0x1p-100f;
/// LAPACK's conventions: beta has the sign opposite to alpha; a zero tail gives tau = 0, H = I.
__device__ __forceinline__ Reflector reflect(float alpha, float tail_square) {
  if (tail_square < k_no_tail) return {0, 0, alpha};
  const float norm = sqrtf(alpha * alpha + tail_square);
  const float beta = -copysignf(norm, alpha);
  return {(beta - alpha) / beta, 1 / (alpha - beta), beta};
}

}  // namespace tridiagonal

#endif  // KBENCH_EIGH_TRIDIAGONAL_REDUCE_TASK_CUH
