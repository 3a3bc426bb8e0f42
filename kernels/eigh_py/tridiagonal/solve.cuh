// The tridiagonal eigensolver as kernels: one thread an eigenpair.
#ifndef KBENCH_EIGH_TRIDIAGONAL_SOLVE_CUH
#define KBENCH_EIGH_TRIDIAGONAL_SOLVE_CUH

#include "eigensolver.cuh"
#include "primitives.cuh"

namespace tridiagonal {

constexpr int k_solve_threads = 128;

/// What the two launches work on. Padded is padded_rows(n).
struct SolveTask {
  const float* diagonal;  // [batch, n]
  float* coupling;        // [batch, n], made ready in place
  const float* down;      // [batch]: what eigenvalues are multiplied by
  Row* rows;              // [batch, padded]
  double* bound;          // [batch]
  double* pivots;         // [batch, n, n] scratch
  float* values;          // [batch, n], ascending
  float* vectors;         // [batch, n, n] row-major: vector k in column k, not normalised
  float* norms;           // [batch, n]: what the vectors have to be multiplied by
  int n;
  int blocks;  // thread blocks per matrix of solve_pairs
};

/// Grid: batch blocks. Scales and shifts the matrix, see eigensolver.cuh.
__global__ void __launch_bounds__(k_solve_threads) prepare_rows(const SolveTask task) {
  const std::int64_t matrix = block_index();
  const int n = task.n, thread = thread_index();
  const float* d = task.diagonal + matrix * n;
  float* e = task.coupling + matrix * n;
  auto* largest = reinterpret_cast<float*>(shared_memory());  // one a warp
  float bound = 0;
  for (int i = thread; i < n; i += k_solve_threads) {
    const float left = i > 0 ? std::fabs(e[i - 1]) : 0, right = i + 1 < n ? std::fabs(e[i]) : 0;
    bound = std::fmax(bound, std::fabs(d[i]) + left + right);
  }
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) bound = std::fmax(bound, shuffle_xor(bound, mask));
  if (thread % 32 == 0) largest[thread / 32] = bound;
  block_barrier();
  for (int warp = 0; warp < k_solve_threads / 32; ++warp) bound = std::fmax(bound, largest[warp]);
  // The sums were rounded; a matrix of zeros is solved as if its entries were near 1.
  const double whole = bound > 0 ? double{bound} * (1 + 0x1p-20) : 1;
  if (thread == 0) task.bound[matrix] = whole;
  const int padded = padded_rows(n);
  for (int i = thread; i < padded; i += k_solve_threads) {
    const float left = i > 0 && i < n ? make_coupling(e[i - 1], whole) : 0;
    task.rows[matrix * padded + i] = i < n ? make_row(d[i], left, whole, i) : padding_row(whole);
  }
  block_barrier();
  for (int i = thread; i + 1 < n; i += k_solve_threads) e[i] = make_coupling(e[i], whole);
}

/// The bracket of eigenvalue k on the grid whose samples are known.
__device__ __forceinline__ Search grid_search(const Sample* grid, int k) {
  int below = 0, above = k_solve_threads - 1;
  while (above - below > 1) {
    const int middle = (above + below) / 2;
    if (grid[middle].below > k) {
      above = middle;
    } else {
      below = middle;
    }
  }
  return {grid[below], grid[above], 0, 0};
}

/// Whether any lane of the warp says so.
__device__ __forceinline__ bool any_lane(bool mine) {
  int any = mine ? 1 : 0;
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) any |= shuffle_xor(any, mask);
  return any != 0;
}

/// The eigenvalues of a warp's lanes; `samples` is the warp's own, one a lane.
__device__ __forceinline__ double search_warp(const SolveTask& task, const Row* rows, double bound,
                                              Search search, int k, Sample* samples) {
  const int lane = thread_index() % 32, first = k - lane, padded = padded_rows(task.n);
  const int last = first + 31 < task.n ? first + 31 : task.n - 1;
  const double width = final_width(bound);
  for (;;) {
    const bool open = k < task.n && is_open(search, width);
    if (!any_lane(open)) break;
    if (open) {
      samples[lane] = sample_at(rows, padded, next_point(search, k, first, last, width));
    }
    warp_barrier();
    if (open) narrow(search, k, first, last, samples);
    warp_barrier();
  }
  return middle_of(search);
}

/// Grid: batch x task.blocks blocks. A thread block first takes samples at a grid of its threads'
/// points, which saves each of its eigenvalues the first rounds of the search.
__global__ void __launch_bounds__(k_solve_threads) solve_pairs(const SolveTask task) {
  const std::int64_t matrix = block_index() / task.blocks;
  const int n = task.n, thread = thread_index(), padded = padded_rows(n);
  const int k = static_cast<int>(block_index() % task.blocks) * k_solve_threads + thread;
  const Row* rows = task.rows + matrix * padded;
  const double bound = task.bound[matrix];
  auto* samples = reinterpret_cast<Sample*>(shared_memory());
  samples[thread] = sample_at(rows, padded, grid_point(bound, thread, k_solve_threads));
  block_barrier();
  const Search search = grid_search(samples, k);
  block_barrier();
  const double value = search_warp(task, rows, bound, search, k, samples + thread / 32 * 32);
  if (k >= n) return;
  const VectorTask vector{
      rows, task.coupling + matrix * n,       n,
      n,    task.pivots + matrix * n * n + k, task.vectors + matrix * n * n + k};
  task.norms[matrix * n + k] = twisted_vector(vector, value, bound);
  task.values[matrix * n + k] = static_cast<float>(value) * task.down[matrix];
}

}  // namespace tridiagonal

#endif  // KBENCH_EIGH_TRIDIAGONAL_SOLVE_CUH
