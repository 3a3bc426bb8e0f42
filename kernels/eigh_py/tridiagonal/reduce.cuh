// Householder reduction of a batch of symmetric matrices to tridiagonal form, FP32, one matrix to a
// thread block or to a cluster of `ranks` thread blocks that hold the matrix on chip.
//
// Unblocked: one pass over the matrix a step applies the last reflector's rank-2 update and
// multiplies by the next one's vector, so an element is read and written once and used for four
// multiply-adds. With x the pivot column below the diagonal and beta its new leading entry,
// v = (x - beta e) / (x_1 - beta) is not needed before the pass: A v follows from A x, which the
// pass computes, and A e, the next pivot column. That leaves two barriers a step.
#ifndef KBENCH_EIGH_TRIDIAGONAL_REDUCE_CUH
#define KBENCH_EIGH_TRIDIAGONAL_REDUCE_CUH

#include "holding.cuh"

namespace tridiagonal {

/// The steps of one thread.
template <bool Alone, Home Where>
struct Reducer : Holding<Alone, Where> {
  using Base = Holding<Alone, Where>;
  using Base::alive;
  using Base::entries;
  using Base::floats;
  using Base::lane;
  using Base::layout;
  using Base::load;
  using Base::matrix;
  using Base::pivot_column;
  using Base::places;
  using Base::rank;
  using Base::rows;
  using Base::scalars;
  using Base::scale;
  using Base::set_tables;
  using Base::shared;
  using Base::starts;
  using Base::stored_block;
  using Base::task;
  using Base::team;
  using Base::team_largest;
  using Base::thread;
  using Base::warp;

  /// Zeroes what the first pass and the first step read.
  __device__ __forceinline__ void clear() const {
    for (int i = thread; i < layout.padded; i += k_threads) {
      floats(layout.x)[i] = 0;
      floats(layout.v)[i] = floats(layout.w)[i] = 0;
    }
    if (thread < k_warps) scalars().tail_squares[1][thread] = 0;
    if (thread == 0) scalars().leading[1] = 0;
  }

  /// The pass before step j: A -= v w^T + w v^T, the sums of A x, and column j of the new A.
  __device__ __forceinline__ void pass(OwnBlock& own, int j) const {
    const StepVectors vectors{floats(layout.x), floats(layout.v), floats(layout.w), task.n};
    const int count = alive(j);
    float form = 0;
    const auto output_of = [&](int l, const Place& place) {
      float* const to = floats(layout.sums) + l * 2 * k_side;
      const bool holds = place.column == j / k_side;
      return PassOutput{to, to + k_side, holds ? pivot_column(j) : nullptr, j % k_side};
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

  /// Calls add(read(offset)) for each of our 64 sums of the block row that were just written, four
  /// loads at a time: each takes as long as several additions.
  template <class Value, class Read, class Add>
  __device__ __forceinline__ void for_each_sum(int row, int count, const Read& read,
                                               const Add& add) const {
    constexpr int at_once = 4;
    const int end = starts()[row + 1];
#pragma unroll 1
    for (int at = starts()[row]; at < end; at += at_once) {
      int sum[at_once];
      Value value[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) sum[k] = at + k < end ? entries()[at + k] : 2 * count;
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        value[k] = Value{};
        if (sum[k] < 2 * count) value[k] = read(sum[k] * k_side);
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k) add(value[k]);
      if (sum[at_once - 1] >= 2 * count) break;
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
      for_each_sum<float4>(
          row, count,
          [&](int offset) {
            return *reinterpret_cast<const float4*>(floats(layout.sums) + offset +
                                                    group * 4 % k_side);
          },
          [&](const float4& four) {
            sum.x += four.x, sum.y += four.y, sum.z += four.z, sum.w += four.w;
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
      for_each_sum<float>(
          i / k_side, alive(j),
          [&](int offset) { return floats(layout.sums)[offset + i % k_side]; },
          [&](float value) { sum += value; });
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
    const float beta = reflector.beta, inverse = reflector.inverse, tau = reflector.tau;
    const float product_j = product(j, j), column_j = pivot_column(j)[j];
    // v^T A v = (x - beta e)^T A (x - beta e) inverse^2, where A e is the pivot column.
    const float whole = form(j) - 2 * beta * product_j + beta * beta * column_j;
    const float half_form = 0.5f * tau * tau * (whole * inverse * inverse);
    const float w_j = tau * ((product_j - beta * column_j) * inverse) - half_form;
    const bool writes = rank == (j & (team() - 1));
    float* const reflectors = task.reflectors + (matrix * n + j - 1) * n;
    float square = 0;
    // The last update had entries from row j - 1 on.
    for (int i = (j > 1 ? j - 1 : 0) + thread; i < n; i += k_threads) {
      float v = 0, w = 0, x = 0;
      if (i == j) {
        v = 1;
        w = w_j;
      } else if (i > j) {
        const float product_i = product(i, j), column_i = pivot_column(j)[i];
        v = floats(layout.x)[i] * inverse;
        w = tau * ((product_i - beta * column_i) * inverse) - half_form * v;
        x = column_i - v * w_j - w;
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
      pass(own, j);
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
  const Reducer<Alone, Where> reducer{{task, layout, block >> rank_shift(ranks),
                                       static_cast<int>(block & (ranks - 1)), thread, thread / 32,
                                       thread % 32, block_rows(task.n), shared_memory(),
                                       task.outside + block * layout.outside_bytes}};
  reducer.run();
}

}  // namespace tridiagonal

#endif  // KBENCH_EIGH_TRIDIAGONAL_REDUCE_CUH
