// The right answer of eigh_py on CUDA: Jacobi's method, a warp a matrix.
#include <cstdio>

#include "cuda_plugin.cuh"
#include "jacobi.h"

constexpr int k_warp = 32;

/// Eigenvectors (row-major) and ascending eigenvalues of matrices of order n <= 32.
extern "C" __global__ void probe_eigh_kernel(const float* a, std::int64_t batch, int n, float* q,
                                             float* l) {
  __shared__ double m[k_warp * k_warp], v[k_warp * k_warp];
  const int lane = static_cast<int>(threadIdx.x);
  for (std::int64_t b = blockIdx.x; b < batch; b += gridDim.x) {
    const std::int64_t first = b * n * n;
    for (int k = lane; k < n * n; k += k_warp) m[k] = static_cast<double>(a[first + k]);
    kbench_test::jacobi(m, v, n, lane, k_warp, [] { __syncwarp(); });
    if (lane < n) {
      const int place = kbench_test::place_of(m, n, lane);
      l[b * n + place] = static_cast<float>(m[lane * n + lane]);
      for (int i = 0; i < n; ++i) {
        q[first + std::int64_t{i} * n + place] = static_cast<float>(v[i * n + lane]);
      }
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
  probe_eigh_kernel<<<static_cast<unsigned>(blocks), k_warp, 0, stream_of(call)>>>(
      input(call), batch(call), static_cast<int>(n), output(call, 0), output(call, 1));
  return 0;
}

}  // namespace kbench_test
