// The tridiagonal eigensolver as kernels: one thread an eigenpair. What it made is then certified:
// neighbours that lean towards each other are straightened, and a matrix that fails all the same is
// solved once more, shifted wider, without the host's knowledge.
#ifndef KBENCH_EIGH_TRIDIAGONAL_SOLVE_CUH
#define KBENCH_EIGH_TRIDIAGONAL_SOLVE_CUH

#include "eigensolver.cuh"
#include "primitives.cuh"

namespace tridiagonal {

constexpr int k_solve_threads = 128;

constexpr int k_certify_threads = 512;

/// Neighbours farther apart than this fraction of the matrix are orthogonal whatever their
/// spectrum: FP64 leaves a scalar product of about n 2^-53 / 2^-19, a two-thousandth of n eps.
constexpr double k_close = 0x1p-19;
/// What two neighbours' scalar product may be. Rounding them and summing in FP32 leave n eps at
/// most; the gate is at 100 n eps for the sum over a column.
__host__ __device__ constexpr float dot_limit(int n) {
  return 8 * 0x1p-23f * static_cast<float>(n);
}

/// Neighbours that have more than this of each other are not straightened.
constexpr float k_most_lean = 0x1p-4f;
/// Vectors that lean towards their neighbours lean less towards those beyond. Nobody looks at
/// these, unless neighbours were straightened, which does not help there: then at so many.
constexpr int k_reach = 4;

/// What the launches work on. Padded is padded_rows(n).
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
  unsigned* flags;        // [batch]: 1 for a matrix that has to be solved again, else 0
  unsigned* flagged;      // how many of them there were, over all calls
  float limit;            // of neighbours' scalar products
  int n;
  int blocks;  // thread blocks per matrix of solve_pairs
  bool again;  // whether this is the second attempt, for flagged matrices alone
};

/// Whether any lane of the warp says so.
__device__ __forceinline__ bool any_lane(bool mine) {
  int any = mine ? 1 : 0;
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) any |= shuffle_xor(any, mask);
  return any != 0;
}

/// The matrix as the solver reads it, shifted by `width`. Whole thread blocks, of `threads`
/// threads.
__device__ __forceinline__ void write_rows(const SolveTask& task, std::int64_t matrix, double bound,
                                           double width, int threads) {
  const int n = task.n, padded = padded_rows(n);
  const float* d = task.diagonal + matrix * n;
  const float* e = task.coupling + matrix * n;
  for (int i = thread_index(); i < padded; i += threads) {
    const float left = i > 0 && i < n ? make_coupling(e[i - 1], bound) : 0;
    task.rows[matrix * padded + i] =
        i < n ? make_row(d[i], left, bound, i, width) : padding_row(bound);
  }
}

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
  write_rows(task, matrix, whole, k_shift_width, k_solve_threads);
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
  if (task.again && task.flags[matrix] == 0) return;
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

/// Where a thread of certify_pairs finds a matrix's eigenpairs.
struct Pairs {
  float *values, *norms, *vectors;
  int n;
  float close;  // eigenvalues farther apart need no look at their vectors
};

/// The scalar product of eigenvectors k and k + apart; 0 where their eigenvalues are not close.
__device__ __forceinline__ float product_of(const Pairs& pairs, int k, int apart) {
  if (k + apart >= pairs.n || pairs.values[k + apart] - pairs.values[k] > pairs.close) return 0;
  const std::int64_t n = pairs.n;
  const float* z = pairs.vectors + k;
  float sum = 0;
#pragma unroll 8
  for (int i = 0; i < pairs.n; ++i) sum += z[i * n] * z[i * n + apart];
  return sum * pairs.norms[k] * pairs.norms[k + apart];
}

/// Whether eigenpair k is what every eigenpair is: finite, of a vector whose largest entry is near
/// 1, and orthogonal to the next `Reach` vectors. False for NaN.
template <int Reach>
__device__ __forceinline__ bool is_sound(const Pairs& pairs, int k, float limit) {
  const float value = pairs.values[k], norm = pairs.norms[k];
  constexpr float least_norm = 0x1p-60f, largest_norm = 1.01f, largest = 0x1.fffffep127f;
  if (!(norm > least_norm && norm <= largest_norm && std::fabs(value) <= largest)) return false;
#pragma unroll 1
  for (int apart = 1; apart <= Reach; ++apart) {
    if (!(std::fabs(product_of(pairs, k, apart)) <= limit)) return false;
  }
  return true;
}

/// The same of all eigenpairs, for all threads of the block; `failed` is shared, one a warp.
template <int Reach>
__device__ __forceinline__ bool are_sound(const Pairs& pairs, float limit, unsigned* failed) {
  const int thread = thread_index();
  bool sound = true;
  for (int k = thread; k < pairs.n; k += k_certify_threads) {
    sound = is_sound<Reach>(pairs, k, limit) && sound;
  }
  const bool warp_failed = any_lane(!sound);
  if (thread % 32 == 0) failed[thread / 32] = warp_failed ? 1 : 0;
  block_barrier();
  unsigned any = 0;
  for (int warp = 0; warp < k_certify_threads / 32; ++warp) any |= failed[warp];
  return any == 0;
}

/// Takes from vector k + 1 what it has of vector k, where that is more than `limit`. The even k
/// come first, then the odd ones, so that no two threads share a vector. Eigenvalues are as close
/// there as k_close says: a residual grows by less than FP32's eps of the matrix.
__device__ __forceinline__ void straighten(const Pairs& pairs, float limit) {
  const std::int64_t n = pairs.n;
  for (int parity = 0; parity < 2; ++parity) {
    for (int k = thread_index(); k < pairs.n; k += k_certify_threads) {
      if (k % 2 != parity) continue;
      const float product = product_of(pairs, k, 1);
      if (!(std::fabs(product) > limit && std::fabs(product) <= k_most_lean)) continue;
      float* z = pairs.vectors + k;
      const float part = product * (pairs.norms[k] / pairs.norms[k + 1]);
      for (int i = 0; i < pairs.n; ++i) z[i * n + 1] -= part * z[i * n];
      pairs.norms[k + 1] /= std::sqrt(1 - product * product);
    }
    block_barrier();
  }
}

/// Grid: batch blocks. Straightens neighbours, flags the matrices that are not sound then, and
/// shifts those wider.
__global__ void __launch_bounds__(k_certify_threads, 4) certify_pairs(const SolveTask task) {
  const std::int64_t matrix = block_index(), n = task.n;
  const int thread = thread_index();
  const double bound = task.bound[matrix];
  // Eigenvalues so small that they are subnormal are close from one to the next.
  const float close = static_cast<float>(k_close * bound) * task.down[matrix] + 0x1p-148f;
  const Pairs pairs{task.values + matrix * n, task.norms + matrix * n,
                    task.vectors + matrix * n * n, task.n, close};
  auto* failed = reinterpret_cast<unsigned*>(shared_memory());
  bool sound = are_sound<1>(pairs, task.limit, failed);
  if (!sound) {
    straighten(pairs, task.limit);
    sound = are_sound<k_reach>(pairs, task.limit, failed);
  }
  if (thread == 0) {
    task.flags[matrix] = sound ? 0 : 1;
    if (!sound) count_one(task.flagged);
  }
  if (!sound) write_rows(task, matrix, bound, k_wide_shift_width, k_certify_threads);
}

}  // namespace tridiagonal

#endif  // KBENCH_EIGH_TRIDIAGONAL_SOLVE_CUH
