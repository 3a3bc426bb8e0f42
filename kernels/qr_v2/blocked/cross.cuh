// What the two blocks of a pair have in common: S = V_1^T V_2, [k_block, k_block], by which a wide
// apply joins them (Products::find_weights). Three BF16 products to an FP32 one, as in the apply.
#ifndef KBENCH_QR_BLOCKED_CROSS_CUH
#define KBENCH_QR_BLOCKED_CROSS_CUH

#include <cstddef>

#include "layout.cuh"

namespace blocked {

constexpr int k_cross_warps = 8, k_cross_rows = 32, k_cross_stages = 4;
constexpr int k_cross_pitch = padded(4 * k_block);  // of a row of both V in shared memory

/// V_2 is zero above row `row`, so those rows of V_1 play no part in S.
struct CrossTask {
  const std::uint16_t* first;  // [batch, reflector_elements(n)] BF16: V_1
  std::uint16_t* second;       // likewise V_2, whose zeros above `row` are written here
  float* cross;                // [batch, k_block, k_block] row-major: S
  int n;
  int row;    // first row of the second block
  int ranks;  // blocks that share the rows, a cluster; a power of two
};

/// A chunk of rows: of both V_1 and V_2 high parts, then low.
struct CrossShared {
  alignas(16) std::uint16_t ring[k_cross_stages][k_cross_rows][k_cross_pitch];
  float part[k_block][k_block];  // with ranks > 1: this block's sum, read by the others
};

/// This block's rows, copied k_cross_stages - 1 chunks ahead; work(stage) for each chunk.
template <class Work>
__device__ __forceinline__ void each_cross_chunk(CrossShared& shared, const CrossTask& task,
                                                 std::int64_t matrix, int rank, const Work& work) {
  const int thread = static_cast<int>(threadIdx.x);
  constexpr int line_units = 4 * k_block / 8, line_step = k_cross_warps * 32 / line_units;
  const int all = (task.n - task.row + k_cross_rows - 1) / k_cross_rows;
  const int share = (all + task.ranks - 1) / task.ranks, first = rank * share;
  const int count = first + share < all ? share : all - first;
  const int line = thread / line_units, place = thread % line_units * 8;
  int row = task.row + first * k_cross_rows + line;
  static_assert(line_step == k_group_rows, "so that all of a thread's lines lie alike");
  const std::uint16_t* from = (place < 2 * k_block ? task.first : task.second) +
                              matrix * reflector_elements(task.n) +
                              reflector_at(row, place % k_block) + place / k_block % 2 * k_low_part;
  int begun = 0;
  const auto fetch = [&] {
    if (begun < count) {
      std::uint16_t* to = &shared.ring[begun % k_cross_stages][line][place];
#pragma unroll
      for (int k = 0; k < k_cross_rows; k += line_step) {
        copy_async(to + k * k_cross_pitch, from + k / k_group_rows * k_group_elements,
                   row + k < task.n);
      }
      row += k_cross_rows, from += k_cross_rows / k_group_rows * k_group_elements;
    }
    ++begun;
    copy_commit();
  };
#pragma unroll 1
  for (int stage = 0; stage < k_cross_stages - 1; ++stage) fetch();
#pragma unroll 1
  for (int chunk = 0; chunk < count; ++chunk) {
    copy_wait<k_cross_stages - 2>();
    block_barrier();  // the chunk has arrived, and the one before it is no longer read
    fetch();
    work(chunk % k_cross_stages);
  }
  copy_wait<0>();
}

/// The wide apply reads V_2 from the first row of V_1 on.
__device__ __forceinline__ void clear_above_second(const CrossTask& task, std::int64_t matrix) {
  auto* units = reinterpret_cast<uint4*>(task.second + matrix * reflector_elements(task.n) +
                                         reflector_at(task.row - k_block, 0));
  for (int k = static_cast<int>(threadIdx.x); k < k_block * 2 * k_block / 8;
       k += k_cross_warps * 32) {
    units[k] = {0, 0, 0, 0};
  }
}

/// Grid: batch x ranks blocks of k_cross_warps warps, each of which has 16 rows and 32 columns of
/// S.
template <bool Cluster>
__global__ void __launch_bounds__(k_cross_warps * 32) multiply_reflectors(const CrossTask task) {
  CrossShared& shared = shared_as<CrossShared>();
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int rank = Cluster ? cluster_rank() : 0;
  const std::int64_t matrix = static_cast<std::int64_t>(blockIdx.x) / task.ranks;
  if (rank == task.ranks - 1) clear_above_second(task, matrix);
  const int row = warp % 4 * 16, column = warp / 4 * 32;  // of S
  const int low = lane % 8 + lane / 16 * 8, high = lane / 8 % 2 * 8;
  float sum[4][4] = {};  // tile of eight columns
  each_cross_chunk(shared, task, matrix, rank, [&](int stage) {
#pragma unroll
    for (int step = 0; step < k_cross_rows; step += 16) {
      std::uint32_t left[2][4];
      const std::uint16_t* first = &shared.ring[stage][step + low][row + high];
      load_tiles_transposed(left[0], first);
      load_tiles_transposed(left[1], first + k_block);
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        std::uint32_t right[2][4];
        const std::uint16_t* second =
            &shared.ring[stage][step + high + lane % 8]
                        [2 * k_block + column + pair * 16 + lane / 16 * 8];
        load_tiles_transposed(right[0], second);
        load_tiles_transposed(right[1], second + k_block);
#pragma unroll
        for (int term = 0; term < 3; ++term) {
#pragma unroll
          for (int side = 0; side < 2; ++side) {
            multiply_add(sum[2 * pair + side], left[term == 2], right[term == 1][2 * side],
                         right[term == 1][2 * side + 1]);
          }
        }
      }
    }
  });

  float* cross = task.cross + matrix * k_factor_elements;
#pragma unroll
  for (int tile = 0; tile < 4; ++tile) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int r = row + lane / 4 + k / 2 * 8, c = column + tile * 8 + lane % 4 * 2 + k % 2;
      (Cluster ? &shared.part[0][0] : cross)[r * k_block + c] = sum[tile][k];
    }
  }
  if constexpr (Cluster) {
    cluster_barrier();
    const int slice = k_factor_elements / task.ranks;
    const int end = (rank + 1) * slice;
    for (int k = rank * slice + warp * 32 + lane; k < end; k += k_cross_warps * 32) {
      float total = 0;
      for (int other = 0; other < task.ranks; ++other) {
        total += load_twin(&shared.part[0][0] + k, other);
      }
      cross[k] = total;
    }
    cluster_barrier();  // no block leaves while another may read its memory
  }
}

/// Without a cluster no sum is shared.
constexpr int cross_shared_bytes(int ranks) {
  return static_cast<int>(ranks > 1 ? sizeof(CrossShared) : offsetof(CrossShared, part));
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_CROSS_CUH
