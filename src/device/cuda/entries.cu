// Entry-wise passes over whole row-major matrices: one kernel that walks the rows, and the small
// functions it applies. One rounding an operation, as each torch operator rounds by itself.
#include "device/cuda/grid.cuh"
#include "device/cuda/launches.h"

namespace kbench::cuda {
namespace {

constexpr int k_lanes = 32, k_rows = 8;

struct Scale {
  Vectors row, col;
  __device__ float operator()(std::int64_t b, std::int64_t i, std::int64_t j, float a) const {
    if (row.data != nullptr) a = __fmul_rn(row.data[b * row.stride + i], a);
    if (col.data != nullptr) a = __fmul_rn(a, col.data[b * col.stride + j]);
    return a;
  }
};

struct SetDiagonal {
  Vectors diagonal;
  __device__ float operator()(std::int64_t b, std::int64_t i, std::int64_t j, float) const {
    return i == j ? value_of(diagonal.data, diagonal.stride, b, i) : 0.0f;
  }
};

struct KeepUpper {
  __device__ float operator()(std::int64_t, std::int64_t i, std::int64_t j, float a) const {
    return i > j ? 0.0f : a;
  }
};

struct KeepBand {
  const std::int64_t* widths;
  __device__ float operator()(std::int64_t b, std::int64_t i, std::int64_t j, float a) const {
    const std::int64_t distance = i > j ? i - j : j - i;
    return distance > widths[b] ? __fmul_rn(a, 0.0f) : a;
  }
};

struct NearColumns {
  const float* base;
  std::int64_t n;
  float factor;
  __device__ float operator()(std::int64_t b, std::int64_t i, std::int64_t, float noise) const {
    return __fadd_rn(base[b * n + i], __fmul_rn(factor, noise));
  }
};

// The product of two FP32 values is exact in FP64.
struct Widen {
  Vectors scale;
  __device__ double operator()(std::int64_t b, std::int64_t, std::int64_t j, float a) const {
    const double wide = a;
    return scale.data == nullptr ? wide : wide * scale.data[b * scale.stride + j];
  }
};

template <class T, int k_width>
struct alignas(sizeof(T) * k_width) Pack {
  T v[k_width];
};

// out_ij = f(b, i, j, in_ij); in may be out. A warp takes a row, `k_width` entries a lane at a
// time; above 1, n is a multiple of it and both pointers are aligned to a Pack.
template <int k_width, class Out, class F>
__global__ void __launch_bounds__(k_lanes* k_rows)
    map_rows(const float* in, Out* out, std::int64_t rows, std::int64_t n, F f) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * k_rows;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * k_rows + threadIdx.y; row < rows;
       row += step) {
    const std::int64_t b = row / n, i = row - b * n;
    for (std::int64_t j = threadIdx.x * k_width; j < n; j += k_lanes * k_width) {
      const std::int64_t at = row * n + j;
      const auto old = *reinterpret_cast<const Pack<float, k_width>*>(in + at);
      Pack<Out, k_width> fresh;
#pragma unroll
      for (int k = 0; k < k_width; ++k) fresh.v[k] = f(b, i, j + k, old.v[k]);
      *reinterpret_cast<Pack<Out, k_width>*>(out + at) = fresh;
    }
  }
}

bool aligned_to_16(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; }

template <class Out, class F>
cudaError_t launch_map(cudaStream_t stream, const float* in, Out* out, std::int64_t batch,
                       std::int64_t n, F f) {
  const std::int64_t rows = batch * n;
  if (rows <= 0) return cudaSuccess;
  const unsigned grid = blocks_on_x(ceil_div(rows, k_rows));
  const dim3 block(k_lanes, k_rows);
  // 16-byte stores: anything else than whole lines from a warp costs bandwidth.
  constexpr int k_width = 16 / static_cast<int>(sizeof(Out));
  if (n % k_width == 0 && aligned_to_16(in) && aligned_to_16(out)) {
    map_rows<k_width><<<grid, block, 0, stream>>>(in, out, rows, n, f);
  } else {
    map_rows<1><<<grid, block, 0, stream>>>(in, out, rows, n, f);
  }
  return cudaGetLastError();
}

__global__ void scale_values(float* a, std::int64_t count, float factor) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t k = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; k < count;
       k += step) {
    a[k] = __fmul_rn(a[k], factor);
  }
}

__global__ void add_to_diagonal(float* a, std::int64_t rows, std::int64_t n, Vectors diagonal) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       row < rows; row += step) {
    const std::int64_t b = row / n, i = row - b * n;
    a[row * n + i] = __fadd_rn(a[row * n + i], value_of(diagonal.data, diagonal.stride, b, i));
  }
}

}  // namespace

cudaError_t launch_scale(cudaStream_t stream, float* a, std::int64_t batch, std::int64_t n,
                         Vectors row, Vectors col) {
  return launch_map(stream, a, a, batch, n, Scale{row, col});
}

cudaError_t launch_scale_all(cudaStream_t stream, float* a, std::int64_t count, float factor) {
  constexpr int k_threads = 256;
  if (count <= 0) return cudaSuccess;
  scale_values<<<blocks_on_x(ceil_div(count, k_threads)), k_threads, 0, stream>>>(a, count, factor);
  return cudaGetLastError();
}

cudaError_t launch_add_diagonal(cudaStream_t stream, float* a, std::int64_t batch, std::int64_t n,
                                Vectors diagonal) {
  constexpr int k_threads = 256;
  const std::int64_t rows = batch * n;
  if (rows <= 0) return cudaSuccess;
  add_to_diagonal<<<blocks_on_x(ceil_div(rows, k_threads)), k_threads, 0, stream>>>(a, rows, n,
                                                                                    diagonal);
  return cudaGetLastError();
}

cudaError_t launch_set_diagonal(cudaStream_t stream, float* out, std::int64_t batch, std::int64_t n,
                                Vectors diagonal) {
  return launch_map(stream, out, out, batch, n, SetDiagonal{diagonal});
}

cudaError_t launch_keep_upper(cudaStream_t stream, float* a, std::int64_t batch, std::int64_t n) {
  return launch_map(stream, a, a, batch, n, KeepUpper{});
}

cudaError_t launch_keep_band(cudaStream_t stream, float* a, std::int64_t batch, std::int64_t n,
                             const std::int64_t* widths) {
  return launch_map(stream, a, a, batch, n, KeepBand{widths});
}

cudaError_t launch_near_columns(cudaStream_t stream, float* out, std::int64_t batch, std::int64_t n,
                                const float* base, const float* noise, float factor) {
  return launch_map(stream, noise, out, batch, n, NearColumns{base, n, factor});
}

cudaError_t launch_widen_rows(cudaStream_t stream, const float* in, Vectors column_scale,
                              std::int64_t batch, std::int64_t n, double* out) {
  return launch_map(stream, in, out, batch, n, Widen{column_scale});
}

}  // namespace kbench::cuda
