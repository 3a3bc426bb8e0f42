// The two small steps of the compact WY form Q = I - V T V^T that are no matrix product: the panel
// V with its Gram matrix, and T from tau and the Gram matrix. All matrices of a batch at once.
#include "device/cuda/grid.cuh"
#include "device/cuda/launches.h"

namespace kbench::cuda {
namespace {

constexpr int k_width = static_cast<int>(k_panel_width), k_threads = 256;
constexpr int k_step = 32, k_chunk = 256, k_pad = k_width + 4;

// Entry (row, col) of V: unit diagonal, zeros above. A reflector with tau = 0 is the identity
// whatever is stored below the diagonal, so it becomes a unit vector (no 0 * inf later).
__device__ float reflector_entry(const Panel& panel, std::int64_t rows, std::int64_t b,
                                 std::int64_t row, int col, bool live) {
  if (col >= panel.width || row >= rows || row < col) return 0.0f;
  if (row == col) return 1.0f;
  if (!live) return 0.0f;
  const std::int64_t i = panel.first + row, j = panel.first + col;
  const float* matrix = panel.h + b * panel.n * panel.n;
  return panel.layout == Layout::column_major ? matrix[j * panel.n + i] : matrix[i * panel.n + j];
}

// Copies 32 rows of V to shared memory, neighbouring lanes reading neighbouring addresses.
__device__ void load_rows(const Panel& panel, std::int64_t rows, std::int64_t b, std::int64_t row0,
                          const bool* live, float (*tile)[k_pad]) {
  for (int e = threadIdx.x; e < k_step * k_width; e += k_threads) {
    const bool by_columns = panel.layout == Layout::column_major;
    const int row = by_columns ? e % k_step : e / k_width;
    const int col = by_columns ? e / k_step : e % k_width;
    tile[row][col] = reflector_entry(panel, rows, b, row0 + row, col, live[col]);
  }
}

// A block takes 256 rows of one matrix's panel: reads H once, writes V column-major and the chunk's
// share of V^T V, a 4 x 4 corner a thread. 8 bytes an entry of the panel.
__global__ void __launch_bounds__(k_threads)
    copy_panel(Panel panel, std::int64_t rows, std::int64_t chunks, float* v, float* gram) {
  alignas(16) __shared__ float tile[k_step][k_pad];
  __shared__ bool live[k_width];
  const int x = threadIdx.x % 16 * 4, y = threadIdx.x / 16 * 4;
  for (std::int64_t id = blockIdx.x; id < panel.batch * chunks; id += gridDim.x) {
    const std::int64_t b = id / chunks, chunk = id - b * chunks;
    if (threadIdx.x < k_width) {
      live[threadIdx.x] =
          threadIdx.x < panel.width && panel.tau[b * panel.n + panel.first + threadIdx.x] != 0.0f;
    }
    float corner[4][4] = {};
    for (std::int64_t row0 = chunk * k_chunk; row0 < rows && row0 < (chunk + 1) * k_chunk;
         row0 += k_step) {
      __syncthreads();
      load_rows(panel, rows, b, row0, live, tile);
      __syncthreads();
      for (int e = threadIdx.x; e < k_step * k_width; e += k_threads) {
        const int row = e % k_step, col = e / k_step;
        if (col < panel.width && row0 + row < rows) {
          v[(b * panel.width + col) * rows + row0 + row] = tile[row][col];
        }
      }
#pragma unroll 8
      for (int row = 0; row < k_step; ++row) {
        const float4 across = *reinterpret_cast<const float4*>(&tile[row][x]);
        const float4 down = *reinterpret_cast<const float4*>(&tile[row][y]);
        const float a[4] = {across.x, across.y, across.z, across.w};
        const float d[4] = {down.x, down.y, down.z, down.w};
#pragma unroll
        for (int q = 0; q < 4; ++q) {
#pragma unroll
          for (int p = 0; p < 4; ++p) corner[q][p] = fmaf(d[q], a[p], corner[q][p]);
        }
      }
    }
    float* to = gram + (b * chunks + chunk) * k_width * k_width;
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      *reinterpret_cast<float4*>(to + (y + q) * k_width + x) =
          make_float4(corner[q][0], corner[q][1], corner[q][2], corner[q][3]);
    }
    __syncthreads();
  }
}

// Doubles the finished diagonal blocks of T from `size` to 2 size: with T1 and T2 on the diagonal
// and G12 the Gram block between them, T12 = -T1 (G12 T2). All pairs of blocks at once.
__device__ void merge_blocks(int size, const float (*g)[k_width + 1], float (*t)[k_width + 1],
                             float (*product)[k_width / 2 + 1]) {
  const int entries = k_width / 2 * size;
  for (int e = threadIdx.x; e < entries; e += k_threads) {
    const int first = e / (size * size) * 2 * size, i = e / size % size, j = e % size;
    float sum = 0;
    for (int l = 0; l <= j; ++l) {
      sum = fmaf(g[first + i][first + size + l], t[first + size + l][first + size + j], sum);
    }
    product[first + i][j] = sum;
  }
  __syncthreads();
  for (int e = threadIdx.x; e < entries; e += k_threads) {
    const int first = e / (size * size) * 2 * size, i = e / size % size, j = e % size;
    float sum = 0;
    for (int l = i; l < size; ++l) sum = fmaf(t[first + i][first + l], product[first + l][j], sum);
    t[first + i][first + size + j] = -sum;
  }
  __syncthreads();
}

// A block a matrix. Six doublings instead of 64 dependent columns: the chain of larft would be the
// longest step for few large matrices. A tau of 0 leaves a zero row and column.
__global__ void __launch_bounds__(k_threads)
    form_t(Panel panel, std::int64_t chunks, const float* gram, float* out) {
  __shared__ float g[k_width][k_width + 1], t[k_width][k_width + 1];
  __shared__ float product[k_width][k_width / 2 + 1];
  constexpr int k_entries = k_width * k_width;
  for (std::int64_t b = blockIdx.x; b < panel.batch; b += gridDim.x) {
    for (int e = threadIdx.x; e < k_entries; e += k_threads) {
      const int i = e / k_width, j = e % k_width;
      float sum = 0;
#pragma unroll 4
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        sum += gram[(b * chunks + chunk) * k_entries + e];
      }
      g[i][j] = sum;
      t[i][j] = i == j && i < panel.width ? panel.tau[b * panel.n + panel.first + i] : 0.0f;
    }
    __syncthreads();
    for (int size = 1; size < k_width; size *= 2) merge_blocks(size, g, t, product);
    for (int e = threadIdx.x; e < k_entries; e += k_threads) {
      out[b * k_entries + e] = t[e % k_width][e / k_width];
    }
    __syncthreads();
  }
}

}  // namespace

std::int64_t panel_chunks(std::int64_t rows) { return ceil_div(rows, k_chunk); }

cudaError_t launch_panel(cudaStream_t stream, const Panel& panel, float* v, float* gram) {
  const std::int64_t rows = panel.n - panel.first, chunks = panel_chunks(rows);
  if (panel.batch <= 0 || rows <= 0) return cudaSuccess;
  copy_panel<<<blocks_on_x(panel.batch * chunks), k_threads, 0, stream>>>(panel, rows, chunks, v,
                                                                          gram);
  return cudaGetLastError();
}

cudaError_t launch_t_factor(cudaStream_t stream, const Panel& panel, const float* gram, float* t) {
  const std::int64_t rows = panel.n - panel.first;
  if (panel.batch <= 0 || rows <= 0) return cudaSuccess;
  form_t<<<blocks_on_x(panel.batch), k_threads, 0, stream>>>(panel, panel_chunks(rows), gram, t);
  return cudaGetLastError();
}

}  // namespace kbench::cuda
