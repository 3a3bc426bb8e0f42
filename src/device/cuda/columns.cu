// Passes over parts of matrices: some columns, whole matrices by index, rows and columns in another
// order, the diagonal. Rounds once an operation; knows nothing of what the columns mean.
#include "device/cuda/grid.cuh"
#include "device/cuda/launches.h"

namespace kbench::cuda {
namespace {

constexpr int k_lanes = 32, k_rows = 8, k_threads = 256;

__global__ void __launch_bounds__(k_lanes* k_rows)
    clear_columns(float* a, std::int64_t rows, std::int64_t n, std::int64_t first) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * k_rows;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * k_rows + threadIdx.y; row < rows;
       row += step) {
    for (std::int64_t j = first + threadIdx.x; j < n; j += k_lanes) a[row * n + j] = 0.0f;
  }
}

// Reads columns below `first` and writes columns from `first` on: no thread reads what another
// writes.
__global__ void __launch_bounds__(k_lanes* k_rows)
    append_columns(float* a, std::int64_t rows, std::int64_t n, std::int64_t first,
                   const float* noise, float factor) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * k_rows, tail = n - first;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * k_rows + threadIdx.y; row < rows;
       row += step) {
    for (std::int64_t k = threadIdx.x; k < tail; k += k_lanes) {
      const float change = __fmul_rn(factor, noise[row * tail + k]);
      a[row * n + first + k] = __fadd_rn(a[row * n + k], change);
    }
  }
}

constexpr std::int64_t k_copy_chunk = 4096;

__global__ void __launch_bounds__(k_threads)
    copy_by_index(const float* in, const std::int64_t* index, bool to_index, std::int64_t batch,
                  std::int64_t size, std::int64_t chunks, float* out) {
  for (std::int64_t id = blockIdx.x; id < batch * chunks; id += gridDim.x) {
    const std::int64_t b = id / chunks, begin = (id - b * chunks) * k_copy_chunk;
    const std::int64_t end = begin + k_copy_chunk < size ? begin + k_copy_chunk : size;
    const float* from = in + (to_index ? b : index[b]) * size;
    float* to = out + (to_index ? index[b] : b) * size;
#pragma unroll 4
    for (std::int64_t k = begin + threadIdx.x; k < end; k += k_threads) to[k] = from[k];
  }
}

// A warp takes a row. Its entries are read in the order asked for, so a warp's 32 reads touch up to
// 32 sectors, but those of one row, which stays in the first-level cache: memory sees it once.
__global__ void __launch_bounds__(k_lanes* k_rows)
    rearrange_rows(const float* __restrict__ in, std::int64_t rows, std::int64_t n,
                   const std::int32_t* __restrict__ order, Vectors row_factors,
                   Vectors column_factors, float* __restrict__ out) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * k_rows;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * k_rows + threadIdx.y; row < rows;
       row += step) {
    const std::int64_t b = row / n, i = row - b * n;
    const std::int32_t* places = order == nullptr ? nullptr : order + b * n;
    const float* from = in + (b * n + (places == nullptr ? i : places[i])) * n;
    const float factor = value_of(row_factors.data, row_factors.stride, b, i);
    for (std::int64_t j = threadIdx.x; j < n; j += k_lanes) {
      float value = from[places == nullptr ? j : places[j]];
      if (row_factors.data != nullptr) value = __fmul_rn(factor, value);
      if (column_factors.data != nullptr) {
        value = __fmul_rn(value, column_factors.data[b * column_factors.stride + j]);
      }
      out[row * n + j] = value;
    }
  }
}

__global__ void signs_of_diagonal(const float* h, std::int64_t rows, std::int64_t n, float* signs) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       row < rows; row += step) {
    signs[row] = h[row * n + row % n] > 0.0f ? 1.0f : -1.0f;
  }
}

__global__ void fill_pointers(float* base, std::int64_t stride, std::int64_t batch,
                              float** pointers) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t b = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; b < batch;
       b += step) {
    pointers[b] = base + b * stride;
  }
}

}  // namespace

cudaError_t launch_zero_columns(cudaStream_t stream, float* a, std::int64_t batch, std::int64_t n,
                                std::int64_t first) {
  const std::int64_t rows = batch * n;
  if (rows <= 0 || first >= n) return cudaSuccess;
  clear_columns<<<blocks_on_x(ceil_div(rows, k_rows)), dim3(k_lanes, k_rows), 0, stream>>>(
      a, rows, n, first);
  return cudaGetLastError();
}

cudaError_t launch_repeat_columns(cudaStream_t stream, float* a, std::int64_t batch, std::int64_t n,
                                  std::int64_t first, const float* noise, float factor) {
  const std::int64_t rows = batch * n;
  if (rows <= 0 || first >= n) return cudaSuccess;
  append_columns<<<blocks_on_x(ceil_div(rows, k_rows)), dim3(k_lanes, k_rows), 0, stream>>>(
      a, rows, n, first, noise, factor);
  return cudaGetLastError();
}

cudaError_t launch_copy_matrices(cudaStream_t stream, const float* in, const std::int64_t* index,
                                 bool to_index, std::int64_t batch, std::int64_t n, float* out) {
  if (batch <= 0 || n <= 0) return cudaSuccess;
  const std::int64_t chunks = ceil_div(n * n, k_copy_chunk);
  copy_by_index<<<blocks_on_x(batch * chunks), k_threads, 0, stream>>>(in, index, to_index, batch,
                                                                       n * n, chunks, out);
  return cudaGetLastError();
}

cudaError_t launch_rearrange(cudaStream_t stream, const float* in, std::int64_t batch,
                             std::int64_t n, const std::int32_t* order, Vectors row, Vectors col,
                             float* out) {
  const std::int64_t rows = batch * n;
  if (rows <= 0) return cudaSuccess;
  rearrange_rows<<<blocks_on_x(ceil_div(rows, k_rows)), dim3(k_lanes, k_rows), 0, stream>>>(
      in, rows, n, order, row, col, out);
  return cudaGetLastError();
}

cudaError_t launch_diagonal_signs(cudaStream_t stream, const float* h, std::int64_t batch,
                                  std::int64_t n, float* signs) {
  const std::int64_t rows = batch * n;
  if (rows <= 0) return cudaSuccess;
  signs_of_diagonal<<<blocks_on_x(ceil_div(rows, k_threads)), k_threads, 0, stream>>>(h, rows, n,
                                                                                      signs);
  return cudaGetLastError();
}

cudaError_t launch_pointers(cudaStream_t stream, float* base, std::int64_t stride,
                            std::int64_t batch, float** pointers) {
  if (batch <= 0) return cudaSuccess;
  fill_pointers<<<blocks_on_x(ceil_div(batch, k_threads)), k_threads, 0, stream>>>(base, stride,
                                                                                   batch, pointers);
  return cudaGetLastError();
}

}  // namespace kbench::cuda
