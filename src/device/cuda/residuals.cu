// Largest column sum of |part(P) - part(Y) diag(s) - identity I| in FP64, without writing the
// difference. Sums run in an order that depends on the shape alone, so a residual is repeatable.
#include "device/cuda/grid.cuh"
#include "device/cuda/launches.h"

namespace kbench::cuda {
namespace {

constexpr int k_tile = 32, k_rows = 8, k_passes = k_tile / k_rows;

__device__ bool takes_part(Part part, std::int64_t i, std::int64_t j) {
  switch (part) {
    case Part::upper:
      return i <= j;
    case Part::strict_lower:
      return i > j;
    case Part::off_diagonal:
      return i != j;
    default:
      return true;
  }
}

struct Terms {
  const double* p;
  Part p_part;
  const float* y;
  Part y_part;
  Vectors scale;
  bool identity;
  std::int64_t batch, n, strips, slabs, tiles_of_slab;
};

// The entries of Y of one 32 x 32 tile that belong to this thread: column x, rows y, y + 8, ...
template <bool k_column_major>
__device__ void load_y(const Terms& terms, std::int64_t b, std::int64_t i0, std::int64_t j0,
                       float (*tile)[k_tile + 1], float* y) {
  const std::int64_t n = terms.n;
  const float* matrix = terms.y + b * n * n;
  if constexpr (k_column_major) {
    __syncthreads();
#pragma unroll
    for (int k = 0; k < k_passes; ++k) {
      const std::int64_t i = i0 + threadIdx.x, j = j0 + threadIdx.y + k * k_rows;
      const bool used = i < n && j < n && takes_part(terms.y_part, i, j);
      tile[threadIdx.y + k * k_rows][threadIdx.x] = used ? matrix[j * n + i] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < k_passes; ++k) y[k] = tile[threadIdx.x][threadIdx.y + k * k_rows];
  } else {
#pragma unroll
    for (int k = 0; k < k_passes; ++k) {
      const std::int64_t i = i0 + threadIdx.y + k * k_rows, j = j0 + threadIdx.x;
      const bool used = i < n && j < n && takes_part(terms.y_part, i, j);
      y[k] = used ? matrix[i * n + j] : 0.0f;
    }
  }
}

// One block sums a strip of 32 columns down one slab of rows. 8 bytes of P and 4 of Y an entry,
// read once; y * s is exact in FP64, so contraction cannot change the difference.
template <bool k_column_major>
__global__ void __launch_bounds__(k_tile* k_rows) column_sums(Terms terms, double* partial) {
  __shared__ float tile[k_tile][k_tile + 1];
  __shared__ double sums[k_rows][k_tile];
  const std::int64_t n = terms.n, tiles = ceil_div(n, k_tile);
  for (std::int64_t id = blockIdx.x; id < terms.batch * terms.slabs * terms.strips;
       id += gridDim.x) {
    const std::int64_t strip = id % terms.strips, slab = id / terms.strips % terms.slabs;
    const std::int64_t b = id / terms.strips / terms.slabs;
    const std::int64_t j0 = strip * k_tile, j = j0 + threadIdx.x;
    const double s = j < n ? value_of(terms.scale.data, terms.scale.stride, b, j) : 0.0;
    double sum = 0;
    for (std::int64_t t = slab * terms.tiles_of_slab;
         t < tiles && t < (slab + 1) * terms.tiles_of_slab; ++t) {
      const std::int64_t i0 = t * k_tile;
      double p[k_passes];
      float y[k_passes] = {};
#pragma unroll
      for (int k = 0; k < k_passes; ++k) {
        const std::int64_t i = i0 + threadIdx.y + k * k_rows;
        const bool used = terms.p != nullptr && i < n && j < n && takes_part(terms.p_part, i, j);
        p[k] = used ? terms.p[(b * n + i) * n + j] : 0.0;
      }
      if (terms.y != nullptr) load_y<k_column_major>(terms, b, i0, j0, tile, y);
#pragma unroll
      for (int k = 0; k < k_passes; ++k) {
        const std::int64_t i = i0 + threadIdx.y + k * k_rows;
        const double unit = terms.identity && i == j ? 1.0 : 0.0;
        if (i < n && j < n) sum += fabs(p[k] - y[k] * s - unit);
      }
    }
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && j < n) {
      for (int k = 1; k < k_rows; ++k) sum += sums[k][threadIdx.x];
      partial[(b * terms.slabs + slab) * n + j] = sum;
    }
    __syncthreads();
  }
}

constexpr int k_max_threads = 128;

// A NaN on either side wins and stays.
__device__ double larger(double a, double b) { return isnan(b) || b > a ? b : a; }

__global__ void __launch_bounds__(k_max_threads)
    largest_column(const double* partial, std::int64_t batch, std::int64_t n, std::int64_t slabs,
                   double* out) {
  __shared__ double best[k_max_threads];
  for (std::int64_t b = blockIdx.x; b < batch; b += gridDim.x) {
    double mine = 0;
    for (std::int64_t j = threadIdx.x; j < n; j += k_max_threads) {
      double sum = 0;
      for (std::int64_t slab = 0; slab < slabs; ++slab) sum += partial[(b * slabs + slab) * n + j];
      mine = larger(mine, sum);
    }
    best[threadIdx.x] = mine;
    for (int half = k_max_threads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) {
        best[threadIdx.x] = larger(best[threadIdx.x], best[threadIdx.x + half]);
      }
    }
    if (threadIdx.x == 0) out[b] = best[0];
    __syncthreads();
  }
}

}  // namespace

std::int64_t column_sum_slabs(std::int64_t batch, std::int64_t n) {
  // Enough blocks for several waves of a large GPU; fixed, so that the order of sums is too.
  constexpr std::int64_t k_blocks_wanted = 4096;
  const std::int64_t tiles = ceil_div(n, k_tile);
  const std::int64_t blocks = batch * tiles;
  const std::int64_t slabs = blocks > 0 ? ceil_div(k_blocks_wanted, blocks) : 1;
  return slabs < tiles ? slabs : tiles;
}

cudaError_t launch_column_sums(cudaStream_t stream, const double* p, Part part,
                               const Subtrahend& subtrahend, std::int64_t batch, std::int64_t n,
                               double* partial) {
  if (batch <= 0 || n <= 0) return cudaSuccess;
  const std::int64_t strips = ceil_div(n, k_tile), slabs = column_sum_slabs(batch, n);
  const Terms terms{
      p,     part, subtrahend.y, subtrahend.part, subtrahend.column_scale, subtrahend.identity,
      batch, n,    strips,       slabs,           ceil_div(strips, slabs)};
  const unsigned grid = blocks_on_x(batch * strips * slabs);
  const dim3 block(k_tile, k_rows);
  if (subtrahend.layout == Layout::column_major) {
    column_sums<true><<<grid, block, 0, stream>>>(terms, partial);
  } else {
    column_sums<false><<<grid, block, 0, stream>>>(terms, partial);
  }
  return cudaGetLastError();
}

cudaError_t launch_largest_column(cudaStream_t stream, const double* partial, std::int64_t batch,
                                  std::int64_t n, double* out) {
  if (batch <= 0 || n <= 0) return cudaSuccess;
  largest_column<<<blocks_on_x(batch), k_max_threads, 0, stream>>>(partial, batch, n,
                                                                   column_sum_slabs(batch, n), out);
  return cudaGetLastError();
}

}  // namespace kbench::cuda
