// Passes that turn matrices over: symmetrize, transpose, and widening of column-major input. All go
// through a shared tile with one column of padding, so that reads and writes are both coalesced.
#include "device/cuda/grid.cuh"
#include "device/cuda/launches.h"

namespace kbench::cuda {
namespace {

constexpr int k_tile = 32, k_rows = 8;

// Tile pair p of the upper triangle, counted down the columns: p = tj (tj + 1) / 2 + ti, ti <= tj.
__device__ void tile_pair(std::int64_t p, std::int64_t* ti, std::int64_t* tj) {
  std::int64_t column = static_cast<std::int64_t>((sqrt(8.0 * static_cast<double>(p) + 1) - 1) / 2);
  while (column * (column + 1) / 2 > p) --column;
  while ((column + 1) * (column + 2) / 2 <= p) ++column;
  *tj = column;
  *ti = p - column * (column + 1) / 2;
}

// A block holds a tile and its mirror image and writes both: in place, 4 bytes read and written an
// entry.
__global__ void __launch_bounds__(k_tile* k_rows)
    symmetrize_tiles(float* a, std::int64_t batch, std::int64_t n, std::int64_t pairs) {
  __shared__ float upper[k_tile][k_tile + 1], lower[k_tile][k_tile + 1];
  for (std::int64_t id = blockIdx.x; id < batch * pairs; id += gridDim.x) {
    const std::int64_t b = id / pairs;
    std::int64_t ti, tj;
    tile_pair(id - b * pairs, &ti, &tj);
    float* matrix = a + b * n * n;
    const std::int64_t i0 = ti * k_tile, j0 = tj * k_tile;
    const int x = threadIdx.x;
    for (int y = threadIdx.y; y < k_tile; y += k_rows) {
      if (i0 + y < n && j0 + x < n) upper[y][x] = matrix[(i0 + y) * n + j0 + x];
      if (j0 + y < n && i0 + x < n) lower[y][x] = matrix[(j0 + y) * n + i0 + x];
    }
    __syncthreads();
    for (int y = threadIdx.y; y < k_tile; y += k_rows) {
      if (i0 + y < n && j0 + x < n) {
        matrix[(i0 + y) * n + j0 + x] = __fmul_rn(0.5f, __fadd_rn(upper[y][x], lower[x][y]));
      }
      // The diagonal tile is its own mirror image: written once.
      if (ti != tj && j0 + y < n && i0 + x < n) {
        matrix[(j0 + y) * n + i0 + x] = __fmul_rn(0.5f, __fadd_rn(lower[y][x], upper[x][y]));
      }
    }
    __syncthreads();
  }
}

// out row-major: out_ij = in_ji * s_j, the product exact in FP64. Without a scale bits are only
// moved.
template <class Out>
__global__ void __launch_bounds__(k_tile* k_rows)
    turn_tiles(const float* in, Vectors scale, std::int64_t batch, std::int64_t n,
               std::int64_t tiles, Out* out) {
  __shared__ float tile[k_tile][k_tile + 1];
  const std::int64_t tiles_of_matrix = tiles * tiles;
  for (std::int64_t id = blockIdx.x; id < batch * tiles_of_matrix; id += gridDim.x) {
    const std::int64_t b = id / tiles_of_matrix, t = id - b * tiles_of_matrix;
    const std::int64_t i0 = t / tiles * k_tile, j0 = t % tiles * k_tile;
    const int x = threadIdx.x;
    for (int y = threadIdx.y; y < k_tile; y += k_rows) {
      if (j0 + y < n && i0 + x < n) tile[y][x] = in[b * n * n + (j0 + y) * n + i0 + x];
    }
    __syncthreads();
    const std::int64_t j = j0 + x;
    const Out s = j < n ? value_of(scale.data, scale.stride, b, j) : 1.0f;
    for (int y = threadIdx.y; y < k_tile; y += k_rows) {
      if (i0 + y >= n || j >= n) continue;
      const Out value = tile[x][y];
      out[b * n * n + (i0 + y) * n + j] = scale.data == nullptr ? value : value * s;
    }
    __syncthreads();
  }
}

template <class Out>
cudaError_t launch_turn(cudaStream_t stream, const float* in, Vectors scale, std::int64_t batch,
                        std::int64_t n, Out* out) {
  if (batch <= 0 || n <= 0) return cudaSuccess;
  const std::int64_t tiles = ceil_div(n, k_tile);
  turn_tiles<<<blocks_on_x(batch * tiles * tiles), dim3(k_tile, k_rows), 0, stream>>>(
      in, scale, batch, n, tiles, out);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_symmetrize(cudaStream_t stream, float* a, std::int64_t batch, std::int64_t n) {
  if (batch <= 0 || n <= 0) return cudaSuccess;
  const std::int64_t tiles = ceil_div(n, k_tile), pairs = tiles * (tiles + 1) / 2;
  symmetrize_tiles<<<blocks_on_x(batch * pairs), dim3(k_tile, k_rows), 0, stream>>>(a, batch, n,
                                                                                    pairs);
  return cudaGetLastError();
}

cudaError_t launch_transpose(cudaStream_t stream, const float* in, std::int64_t batch,
                             std::int64_t n, float* out) {
  return launch_turn(stream, in, Vectors{}, batch, n, out);
}

cudaError_t launch_widen_columns(cudaStream_t stream, const float* in, Vectors column_scale,
                                 std::int64_t batch, std::int64_t n, double* out) {
  return launch_turn(stream, in, column_scale, batch, n, out);
}

}  // namespace kbench::cuda
