// Grid geometry shared by the kernels.
#pragma once

#include <cstdint>

namespace kbench::cuda {

/// Blocks of a grid on x: at least 1, at most what the hardware takes. Kernels loop beyond it.
inline unsigned blocks_on_x(std::int64_t blocks) {
  constexpr std::int64_t k_most = 2147483647;
  return static_cast<unsigned>(blocks < 1 ? 1 : (blocks < k_most ? blocks : k_most));
}

inline __host__ __device__ std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Value of row or column k of matrix b; one where there are no values.
inline __device__ float value_of(const float* data, std::int64_t stride, std::int64_t b,
                                 std::int64_t k) {
  return data == nullptr ? 1.0f : data[b * stride + k];
}

}  // namespace kbench::cuda
