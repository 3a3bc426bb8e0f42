// Householder reduction of a batch of symmetric matrices to tridiagonal form, FP32, one matrix to a
// thread block or to a cluster of `ranks` thread blocks that hold the matrix on chip.
//
// Unblocked: one pass over the matrix a step applies the last reflector's rank-2 update and
// multiplies by the next one, so an element is read and written once and used for four
// multiply-adds. With x the pivot column below the diagonal and beta its new leading entry,
// v = (x - beta e) / (x_1 - beta) is not needed before the pass: A v follows from A x, which the
// pass computes, and A e, the next pivot column. That leaves two barriers a step.
#ifndef KBENCH_EIGH_TRIDIAGONAL_REDUCE_CUH
#define KBENCH_EIGH_TRIDIAGONAL_REDUCE_CUH

#include "block_pass.cuh"

namespace tridiagonal {

/// What one launch reduces. T = Q^T (up A) Q, up a power of two that brings A's largest magnitude
/// near 1; Q = H_0 H_1 ..., H_j = I - tau_j v_j v_j^T, v_j zero above row j + 1 and 1 there.
struct ReduceTask {
  const float* a;          // [batch, n, n] symmetric; the lower triangle is read
  float* reflectors;       // [batch, n, n]: v_j in row j, for j < n - 1
  float* tau;              // [batch, n]: tau_j for j < n - 1
  float* diagonal;         // [batch, n]
  float* coupling;         // [batch, n]: between j and j + 1, for j < n - 1
  float* down;             // [batch]: 1 / up; 0 for a matrix of zeros
  float4* spill;           // [batch, ranks, spilled, k_block_elements / 4]
  unsigned char* outside;  // [batch, ranks, outside_bytes of the layout]
  int n;
  int ranks;     // thread blocks per matrix
  int resident;  // blocks that a thread block keeps in shared memory, after one a warp in registers
  int spilled;   // blocks beyond those
};

/// H = I - tau v v^T with v = (1, inverse * tail) and H (alpha, tail)^T = (beta, 0)^T.
struct Reflector {
  float tau, inverse, beta;
};
/// Powers of two: `up` brings a matrix whose largest magnitude has these bits into [1, 2), or as
/// near as both factors stay normal; `down` is its exact inverse.
struct ScalePair {
  float up, down;
};
__device__ __forceinline__ ScalePair scale_of(unsigned largest) {
  const int wanted = 254 - static_cast<int>(largest >> 23);
  const int exponent = wanted < 1 ? 1 : wanted > 253 ? 253 : wanted;
  return {float_of(static_cast<unsigned>(exponent) << 23),
          float_of(static_cast<unsigned>(254 - exponent) << 23)};
}
/// Tails below this are beyond what FP32 resolves of a matrix of magnitude 1, by far; without them
/// no square that matters is subnormal.
constexpr float k_no_tail = 0x1p-100f;
/// LAPACK's conventions: beta has the sign opposite to alpha; a zero tail gives tau = 0, H = I.
__device__ __forceinline__ Reflector reflect(float alpha, float tail_square) {
  if (tail_square < k_no_tail) return {0, 0, alpha};
  const float norm = sqrtf(alpha * alpha + tail_square);
  const float beta = -copysignf(norm, alpha);
  return {(beta - alpha) / beta, 1 / (alpha - beta), beta};
}

/// One thread's view of its block's work. `Alone` where a matrix is one thread block's; `Where` its
/// vectors are.
template <bool Alone, Home Where>
struct Reducer {
  const ReduceTask& task;
  const SharedLayout layout;
  const std::int64_t matrix;
  const int rank, thread, warp, lane;
  const int rows;  // of 64 x 64 blocks
  unsigned char* const shared;
  unsigned char* const outside;

  __device__ __forceinline__ int team() const { return Alone ? 1 : task.ranks; }
  /// What no other thread block writes to. The address space is known when this is compiled, which
  /// shared memory needs to be fast.
  template <class T>
  __device__ __forceinline__ T* own_at(int offset) const {
    if constexpr (Where == Home::outside) return reinterpret_cast<T*>(outside + offset);
    return reinterpret_cast<T*>(shared + offset);
  }
  __device__ __forceinline__ float* floats(int offset) const { return own_at<float>(offset); }
  __device__ __forceinline__ Scalars& scalars() const {
    return *reinterpret_cast<Scalars*>(shared + layout.scalars);
  }
  __device__ __forceinline__ Place* places() const { return own_at<Place>(layout.places); }
  __device__ __forceinline__ int* starts() const { return own_at<int>(layout.starts); }
  __device__ __forceinline__ int* entries() const { return own_at<int>(layout.entries); }
  /// The pivot column of step j, valid from the end of pass j - 1 to the end of step j.
  __device__ __forceinline__ float* pivot_column(int j) const {
    const int parity = (j & 1) * layout.padded;
    if constexpr (Alone) return floats(layout.column) + parity;
    return reinterpret_cast<float*>(shared + layout.column) + parity;
  }
  /// Number of this thread block's blocks that still hold column j or a later one.
  __device__ __forceinline__ int alive(int j) const {
    return share_of(triangle(rows - j / k_side), rank, team());
  }
  __device__ __forceinline__ float4* stored_block(int local) const {
    constexpr int size = k_block_elements / 4;
    const int beyond = local - k_warps - task.resident;
    if (beyond < 0) {
      return reinterpret_cast<float4*>(shared + layout.resident) + (local - k_warps) * size;
    }
    return task.spill + ((matrix * team() + rank) * task.spilled + beyond) * size;
  }

  /// Which blocks are ours, and for each block row which sums of ours belong to it, oldest last.
  __device__ __forceinline__ void set_tables() const {
    const int count = alive(0);
    for (int l = thread; l < count; l += k_threads) {
      places()[l] = place_of(l * team() + rank, rows);
    }
    block_barrier();
    const auto visit = [&](int row, const auto& found) {
      for (int l = 0; l < count; ++l) {
        const Place place = places()[l];
        if (place.row == row) found(2 * l);
        if (place.column == row && place.row != row) found(2 * l + 1);
      }
    };
    for (int row = thread; row < rows; row += k_threads) {
      int found = 0;
      visit(row, [&](int) { ++found; });
      starts()[row + 1] = found;
    }
    block_barrier();
    if (thread == 0) {
      starts()[0] = 0;
      for (int row = 0; row < rows; ++row) starts()[row + 1] += starts()[row];
    }
    block_barrier();
    for (int row = thread; row < rows; row += k_threads) {
      int at = starts()[row];
      visit(row, [&](int sum) { entries()[at++] = sum; });
    }
  }

  /// Four entries of a row of A, zero outside the matrix.
  __device__ __forceinline__ float4 read_four(int row, int column) const {
    const int n = task.n;
    float4 four = {0, 0, 0, 0};
    if (row >= n || column >= n) return four;
    const float* from = task.a + (matrix * n + row) * n + column;
    if (n % 4 == 0) return *reinterpret_cast<const float4*>(from);
    four.x = from[0];
    if (column + 1 < n) four.y = from[1];
    if (column + 2 < n) four.z = from[2];
    if (column + 3 < n) four.w = from[3];
    return four;
  }

  /// Calls work(four, a, group) for the lane's float4 of a block, [16 rows][2 groups].
  template <class Work>
  __device__ __forceinline__ void read_block(const Place& place, const Work& work) const {
#pragma unroll
    for (int a = 0; a < 16; ++a) {
#pragma unroll
      for (int group = 0; group < 2; ++group) {
        const int row = place.row * k_side + a / 8 * 32 + (lane >> 3) * 8 + a % 8;
        work(read_four(row, place.column * k_side + group * 32 + (lane & 7) * 4), a, group);
      }
    }
  }

  /// Loads all blocks; returns the largest magnitude this thread saw, as ordered bits: a NaN
  /// counts as larger than every number.
  __device__ __forceinline__ unsigned load(OwnBlock& own) const {
    unsigned largest = 0;
    const auto see = [&](float value) {
      const unsigned magnitude = bits_of(value) & 0x7fffffffu;
      largest = magnitude > largest ? magnitude : largest;
    };
    const int count = alive(0);
    for (int l = warp; l < count; l += k_warps) {
      const auto keep = [&](const float4& four, int a, int group) {
        see(four.x), see(four.y), see(four.z), see(four.w);
        if (l == warp) {
          float* at = &own[a / 8][a % 8][group * 4];
          at[0] = four.x, at[1] = four.y, at[2] = four.z, at[3] = four.w;
        } else {
          stored_block(l)[stored_at(a, group, lane)] = four;
        }
      };
      read_block(places()[l], keep);
    }
    return largest;
  }

  __device__ __forceinline__ void scale(OwnBlock& own, float up) const {
    for (int l = warp; l < alive(0); l += k_warps) {
#pragma unroll
      for (int k = 0; k < 32; ++k) {
        if (l == warp) {
          for (int c = 0; c < 4; ++c) own[k / 16][k / 2 % 8][k % 2 * 4 + c] *= up;
        } else {
          float4& four = stored_block(l)[stored_at(k / 2, k % 2, lane)];
          four = {four.x * up, four.y * up, four.z * up, four.w * up};
        }
      }
    }
  }

  __device__ __forceinline__ void team_barrier() const {
    if (team() > 1) {
      cluster_barrier();
    } else {
      block_barrier();
    }
  }

  /// The largest magnitude of the matrix from what each thread saw.
  __device__ __forceinline__ unsigned team_largest(unsigned largest) const {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) {
      const unsigned other = shuffle_xor(largest, mask);
      largest = other > largest ? other : largest;
    }
    if (lane == 0) scalars().warp_forms[warp] = float_of(largest);
    block_barrier();
    if (thread < team()) {
      unsigned most = 0;
      for (const float other : scalars().warp_forms) {
        most = bits_of(other) > most ? bits_of(other) : most;
      }
      if (team() > 1) {
        store_twin(&scalars().largest[rank], thread, float_of(most));
      } else {
        scalars().largest[0] = float_of(most);
      }
    }
    team_barrier();
    largest = 0;
    for (int k = 0; k < team(); ++k) {
      const unsigned other = bits_of(scalars().largest[k]);
      largest = other > largest ? other : largest;
    }
    return largest;
  }

  /// Zeroes what the first pass and the first step read.
  __device__ __forceinline__ void clear() const {
    for (int i = thread; i < layout.padded; i += k_threads) {
      floats(layout.x)[i] = floats(layout.v)[i] = floats(layout.w)[i] = 0;
    }
    if (thread < k_warps) scalars().tail_squares[1][thread] = 0;
    if (thread == 0) scalars().leading[1] = 0;
  }

  /// Pass j: A -= v w^T + w v^T, the sums of A x, and column j + 1 of the new A.
  __device__ __forceinline__ void pass(OwnBlock& own, int j) const {
    const StepVectors vectors{floats(layout.x), floats(layout.v), floats(layout.w), task.n};
    const int count = alive(j + 1);
    float form = 0;
    const auto output_of = [&](int l, const Place& place) {
      float* const to = floats(layout.sums) + l * 2 * k_side;
      const bool holds = place.column == (j + 1) / k_side;
      return PassOutput{to, to + k_side, holds ? pivot_column(j + 1) : nullptr, (j + 1) % k_side};
    };
    if (warp < count) {
      const Place place = places()[warp];
      form += pass_block<true>(own, nullptr, place, vectors, output_of(warp, place), lane);
    }
#pragma unroll 1
    for (int l = warp + k_warps; l < count; l += k_warps) {
      const Place place = places()[l];
      form += pass_block<false>(own, stored_block(l), place, vectors, output_of(l, place), lane);
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) form += shuffle_xor(form, mask);
    if (lane == 0) scalars().warp_forms[warp] = form;
  }

  /// Calls add(offset of 64 sums) for each of our sums of the block row that were just written.
  template <class Add>
  __device__ __forceinline__ void for_each_sum(int row, int count, const Add& add) const {
    const int end = starts()[row + 1];
    for (int at = starts()[row]; at < end; ++at) {
      const int sum = entries()[at];
      if (sum >= 2 * count) break;
      add(sum * k_side);
    }
  }

  __device__ __forceinline__ float4* parts() const {
    return reinterpret_cast<float4*>(shared + layout.parts);
  }
  __device__ __forceinline__ float4* total() const {
    return reinterpret_cast<float4*>(shared + layout.total);
  }

  /// Sends our sums and our part of column j to where step j reads them.
  __device__ __forceinline__ void share(int j) const {
    const int groups = layout.padded / 4, count = alive(j), ranks = team();
    const bool two_stage = ranks >= k_two_stage_ranks;
    block_barrier();
    for (int group = j / 4 + thread; group < groups; group += k_threads) {
      const int row = group * 4 / k_side;
      float4 sum = {0, 0, 0, 0};
      for_each_sum(row, count, [&](int offset) {
        float four[4];
        load_four(four, floats(layout.sums) + offset + group * 4 % k_side);
        sum.x += four[0], sum.y += four[1], sum.z += four[2], sum.w += four[3];
      });
      if (two_stage) {
        store_twin(parts() + (group & -ranks) + rank, group & (ranks - 1), sum);
      } else {
        for (int to = 0; to < ranks; ++to) {
          store_twin(parts() + ((j & 1) * ranks + rank) * groups + group, to, sum);
        }
      }
      if ((order_of({row, j / k_side}, rows) & (ranks - 1)) == rank) {
        float4* const at = reinterpret_cast<float4*>(pivot_column(j)) + group;
        const float4 four = *at;
        for (int to = 0; to < ranks; ++to) {
          if (to != rank) store_twin(at, to, four);
        }
      }
    }
    if (thread < ranks) {
      float form = 0;
      for (const float other : scalars().warp_forms) form += other;
      store_twin(&scalars().rank_forms[j & 1][rank], thread, form);
    }
    cluster_barrier();
    if (!two_stage) return;
    for (int slot = thread; slot * ranks + rank < groups; slot += k_threads) {
      const int group = slot * ranks + rank;
      if (group < j / 4) continue;
      float4 sum = {0, 0, 0, 0};
      for (int from = 0; from < ranks; ++from) {
        const float4 four = parts()[slot * ranks + from];
        sum.x += four.x, sum.y += four.y, sum.z += four.z, sum.w += four.w;
      }
      for (int to = 0; to < ranks; ++to) store_twin(total() + group, to, sum);
    }
    cluster_barrier();
  }

  /// Entry i of A x of the pass before step j.
  __device__ __forceinline__ float product(int i, int j) const {
    float sum = 0;
    if (team() == 1) {
      for_each_sum(i / k_side, alive(j),
                   [&](int offset) { sum += floats(layout.sums)[offset + i % k_side]; });
    } else if (team() >= k_two_stage_ranks) {
      sum = reinterpret_cast<const float*>(total())[i];
    } else {
      for (int from = 0; from < team(); ++from) {
        const int at = ((j & 1) * team() + from) * layout.padded + i;
        sum += reinterpret_cast<const float*>(parts())[at];
      }
    }
    return sum;
  }

  /// x^T A x of the pass before step j.
  __device__ __forceinline__ float form(int j) const {
    float sum = 0;
    if (team() == 1) {
      for (const float part : scalars().warp_forms) sum += part;
    } else {
      for (int from = 0; from < team(); ++from) sum += scalars().rank_forms[j & 1][from];
    }
    return sum;
  }

  /// Step j: finishes reflector j - 1 and its w, then updates pivot column j with them.
  __device__ __forceinline__ void step(int j) const {
    const int before = (j + 1) & 1, n = task.n;
    float tail_square = 0;
    for (const float part : scalars().tail_squares[before]) tail_square += part;
    const Reflector reflector = reflect(scalars().leading[before], tail_square);
    const float* column = pivot_column(j);
    const float beta = reflector.beta, inverse = reflector.inverse, tau = reflector.tau;
    const float product_j = product(j, j), column_j = column[j];
    // v^T A v = (x - beta e)^T A (x - beta e) inverse^2, where A e is the pivot column.
    const float whole = form(j) - 2 * beta * product_j + beta * beta * column_j;
    const float half_form = 0.5f * tau * tau * (whole * inverse * inverse);
    const float w_j = tau * ((product_j - beta * column_j) * inverse) - half_form;
    const bool writes = rank == (j & (team() - 1));
    float* const reflectors = task.reflectors + (matrix * n + j - 1) * n;
    float square = 0;
    for (int i = (j > 0 ? j - 1 : 0) + thread; i < n; i += k_threads) {
      float v = 0, w = 0, x = 0;
      if (i == j) {
        v = 1;
        w = w_j;
      } else if (i > j) {
        v = floats(layout.x)[i] * inverse;
        w = tau * ((product(i, j) - beta * column[i]) * inverse) - half_form * v;
        x = column[i] - v * w_j - w;
        if (i == j + 1) {
          scalars().leading[j & 1] = x;
        } else {
          square += x * x;
        }
      }
      floats(layout.v)[i] = v;
      floats(layout.w)[i] = w;
      floats(layout.x)[i] = x;
      if (writes && j > 0 && i >= j) reflectors[i] = v;
    }
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) square += shuffle_xor(square, mask);
    if (lane == 0) scalars().tail_squares[j & 1][warp] = square;
    if (j + 1 >= n && thread == 0) scalars().leading[j & 1] = 0;
    if (!writes || thread != 0) return;
    task.diagonal[matrix * n + j] = column_j - 2 * w_j;
    if (j > 0) {
      task.coupling[matrix * n + j - 1] = beta;
      task.tau[matrix * n + j - 1] = tau;
    }
  }

  __device__ __forceinline__ void run() const {
    OwnBlock own = {};
    set_tables();
    if (team() > 1) cluster_barrier();  // every block has to run before it is written to
    const unsigned largest = team_largest(load(own));
    const ScalePair powers = scale_of(largest);
    scale(own, powers.up);
    clear();
    if (rank == 0 && thread == 0) task.down[matrix] = largest == 0 ? 0 : powers.down;
    block_barrier();
    for (int j = 0; j < task.n; ++j) {
      pass(own, j - 1);
      if (team() > 1) {
        share(j);
      } else {
        block_barrier();
      }
      step(j);
      block_barrier();
    }
  }
};

/// Grid: batch x ranks blocks of k_threads, the ranks of a matrix forming a cluster; `Alone` is for
/// one rank.
template <bool Alone, Home Where>
__global__ void __launch_bounds__(k_threads, 1) reduce_matrices(const ReduceTask task) {
  const int thread = thread_index(), ranks = Alone ? 1 : task.ranks;
  const std::int64_t block = block_index();
  const SharedLayout layout = shared_layout(task.n, ranks, Where);
  const Reducer<Alone, Where> reducer{task,
                                      layout,
                                      block >> rank_shift(ranks),
                                      static_cast<int>(block & (ranks - 1)),
                                      thread,
                                      thread / 32,
                                      thread % 32,
                                      block_rows(task.n),
                                      shared_memory(),
                                      task.outside + block * layout.outside_bytes};
  reducer.run();
}

}  // namespace tridiagonal

#endif  // KBENCH_EIGH_TRIDIAGONAL_REDUCE_CUH
