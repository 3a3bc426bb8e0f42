// What the CUDA test plug-ins share: the descriptor's boilerplate and one correct, slow QR kernel.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

#include "kbench_kernel.h"

#define KBENCH_CUDA_TEST_PLUGIN(name)                                                           \
  extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {KBENCH_ABI_VERSION,  \
                                                                           name,                \
                                                                           "qr_v2",             \
                                                                           "CUDA test plug-in", \
                                                                           KBENCH_CUDA,         \
                                                                           KBENCH_ROW_MAJOR,    \
                                                                           0,                   \
                                                                           nullptr,             \
                                                                           nullptr,             \
                                                                           nullptr,             \
                                                                           custom_kernel,       \
                                                                           nullptr,             \
                                                                           nullptr}

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

inline cudaStream_t stream_of(const kbench_call* call) {
  return static_cast<cudaStream_t>(call->stream);
}

/// Launches the kernel above for a whole call.
inline int launch_probe(const kbench_call* call) {
  const std::int64_t batch = call->inputs[0].size[0], n = call->inputs[0].size[1];
  if (n > k_warp) {
    std::snprintf(call->error, call->error_size, "n is above 32");
    return 1;
  }
  const std::int64_t blocks = batch < 65536 ? batch : 65536;
  probe_qr_kernel<<<static_cast<unsigned>(blocks), k_warp, 0, stream_of(call)>>>(
      static_cast<const float*>(call->inputs[0].data), batch, static_cast<int>(n),
      static_cast<float*>(call->outputs[0].data), static_cast<float*>(call->outputs[1].data));
  return 0;
}
