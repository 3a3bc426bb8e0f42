// Householder QR on the GPU, one block a matrix: right on every case, and slow. Make it fast.
#include "kbench_kernel.h"

// Works in place in h (column-major); each warp sums over column k by itself, then takes columns.
__global__ void factor(const float* a, float* h, float* tau, int64_t n) {
  a += blockIdx.x * n * n, h += blockIdx.x * n * n, tau += blockIdx.x * n;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  for (int64_t i = threadIdx.x; i < n * n; i += blockDim.x) h[i % n * n + i / n] = a[i];
  for (int64_t k = 0; k < n; ++k) {
    __syncthreads();
    float* v = h + k * n;
    double below = 0;  // sum of squares below the diagonal; its square may leave float's range
    for (int64_t i = k + 1 + lane; i < n; i += 32) below += double(v[i]) * v[i];
    for (int step = 16; step > 0; step /= 2) below += __shfl_xor_sync(~0u, below, step);
    const double alpha = v[k], beta = -copysign(sqrt(alpha * alpha + below), alpha);
    const float t = below == 0 ? 0.f : float((beta - alpha) / beta);
    __syncthreads();
    if (below != 0) {
      for (int64_t i = k + 1 + threadIdx.x; i < n; i += blockDim.x) v[i] /= float(alpha - beta);
      if (threadIdx.x == 0) v[k] = float(beta);
    }
    if (threadIdx.x == 0) tau[k] = t;
    __syncthreads();
    for (int64_t j = k + 1 + warp; j < n; j += warps) {
      float* c = h + j * n;
      float dot = lane == 0 ? c[k] : 0.f;
      for (int64_t i = k + 1 + lane; i < n; i += 32) dot += v[i] * c[i];
      for (int step = 16; step > 0; step /= 2) dot += __shfl_xor_sync(~0u, dot, step);
      if (lane == 0) c[k] -= t * dot;
      for (int64_t i = k + 1 + lane; i < n; i += 32) c[i] -= t * dot * v[i];
    }
  }
}

// a: [batch, n, n] row-major. Writes h: [batch, n, n] and tau: [batch, n] as LAPACK's geqrf does.
extern "C" void custom_kernel(const float* a, float* h, float* tau, int64_t batch, int64_t n,
                              cudaStream_t stream) {
  factor<<<static_cast<unsigned>(batch), 1024, 0, stream>>>(a, h, tau, n);
}

KBENCH_SIMPLE_KERNEL(qr_v2, KBENCH_CUDA, KBENCH_COLUMN_MAJOR)
