// The right answer of qr_v2 on CUDA, by one slow kernel.
#include <cstdio>

#include "cuda_plugin.cuh"

constexpr int k_warp = 32;

/// Householder QR of one matrix of order n <= 32 a block, thread j owning column j; H row-major.
extern "C" __global__ void probe_qr_kernel(const float* a, std::int64_t batch, int n, float* h,
                                           float* tau) {
  __shared__ float m[k_warp][k_warp + 1];
  const int j = static_cast<int>(threadIdx.x);
  for (std::int64_t b = blockIdx.x; b < batch; b += gridDim.x) {
    const std::int64_t first = b * n * n;
    if (j < n) {
      for (int i = 0; i < n; ++i) m[i][j] = a[first + std::int64_t{i} * n + j];
    }
    for (int k = 0; k < n; ++k) {
      __syncwarp();
      float below = 0;
      for (int i = k + 1; i < n; ++i) below += m[i][k] * m[i][k];
      const float alpha = m[k][k];
      const float beta = -copysignf(sqrtf(alpha * alpha + below), alpha);
      const float t = below == 0 ? 0.0f : (beta - alpha) / beta;
      const float scale = below == 0 ? 0.0f : 1.0f / (alpha - beta);
      __syncwarp();
      if (j > k && j < n && t != 0) {
        float dot = m[k][j];
        for (int i = k + 1; i < n; ++i) dot += m[i][k] * scale * m[i][j];
        m[k][j] -= t * dot;
        for (int i = k + 1; i < n; ++i) m[i][j] -= t * dot * m[i][k] * scale;
      }
      __syncwarp();
      if (j == k) {
        if (t != 0) m[k][k] = beta;
        for (int i = k + 1; i < n; ++i) m[i][k] *= scale;
        tau[b * n + k] = t;
      }
    }
    __syncwarp();
    if (j < n) {
      for (int i = 0; i < n; ++i) h[first + std::int64_t{i} * n + j] = m[i][j];
    }
    __syncwarp();
  }
}

namespace kbench_test {

int solve(const kbench_call* call) {
  const std::int64_t n = order(call);
  if (n > k_warp) {
    std::snprintf(call->error, call->error_size, "n is above %d", k_warp);
    return 1;
  }
  const std::int64_t blocks = batch(call) < 65536 ? batch(call) : 65536;
  probe_qr_kernel<<<static_cast<unsigned>(blocks), k_warp, 0, stream_of(call)>>>(
      input(call), batch(call), static_cast<int>(n), output(call, 0), output(call, 1));
  return 0;
}

}  // namespace kbench_test
