// The triangular factor T of a block of reflectors: H_1 H_2 ... H_k = I - V T V^T.
//
// With G = V^T V and D = diag(tau), T = D (I + striu(G) D)^-1, which also holds where tau = 0.
// G comes from the tensor cores, three BF16 products for one FP32 product: T only has to be as
// accurate as the products it takes part in. A second panel extends T by -T_1 (V_1^T V_2) T_2.
#ifndef KBENCH_QR_BLOCKED_BLOCK_FACTOR_CUH
#define KBENCH_QR_BLOCKED_BLOCK_FACTOR_CUH

#include "reduce.cuh"
#include "team.cuh"

namespace blocked {

constexpr int k_stage_pitch = padded(2 * k_block);  // high parts, then low parts

/// Copies 16 rows of reflectors, columns [0, columns), into the warp's stage.
__device__ __forceinline__ void stage_rows(std::uint16_t (&stage)[16][k_stage_pitch],
                                           const std::uint16_t* reflectors, int row, int end,
                                           int columns, int lane) {
  const int units = columns / 8;  // of 16 bytes, per row and part
  for (int k = lane; k < 16 * 2 * units; k += 32) {
    const int unit = k % units, part = k / units % 2, line = k / (2 * units);
    const bool inside = row + line < end;
    const std::uint16_t* from =
        reflectors + reflector_at(inside ? row + line : row, unit * 8) + part * k_low_part;
    copy_async(&stage[line][part * k_block + unit * 8], from, inside);
  }
}

/// gram += (columns [0, 16 Tiles))^T (columns [first, first + 32)) over 16 staged rows.
template <int Tiles>
__device__ __forceinline__ void accumulate_gram(float (&gram)[Tiles][4][4],
                                                const std::uint16_t (&stage)[16][k_stage_pitch],
                                                int first, int lane) {
  const int tile = lane / 8, line = lane % 8;
  std::uint32_t right[2][2][4];  // part, pair of column tiles
#pragma unroll
  for (int part = 0; part < 2; ++part) {
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      load_tiles_transposed(
          right[part][pair],
          &stage[tile % 2 * 8 + line][part * k_block + first + pair * 16 + tile / 2 * 8]);
    }
  }
#pragma unroll
  for (int i = 0; i < Tiles; ++i) {
    std::uint32_t left[2][4];
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      load_tiles_transposed(left[part],
                            &stage[tile / 2 * 8 + line][part * k_block + i * 16 + tile % 2 * 8]);
    }
#pragma unroll
    for (int product = 0; product < 3; ++product) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const auto& b = right[product == 1][j / 2];
        multiply_add(gram[i][j], left[product == 2], b[j % 2 * 2], b[j % 2 * 2 + 1]);
      }
    }
  }
}

/// The Gram products of the block's rows [begin, begin + count), summed over its warps into
/// shared.gram as value i of lane l at [i * 32 + l]. Tiles: 2 for a first panel, 4 for a second.
template <int Tiles>
__device__ void gram_of_block(const std::uint16_t* reflectors, int begin, int end,
                              PanelShared& shared, const Team& team) {
  constexpr int columns = Tiles * 16;
  float gram[Tiles][4][4] = {};
  auto& stages = shared.tail.staging[team.warp];
  const int tiles = end > begin ? (end - begin + 15) / 16 : 0;
  int tile = team.warp, slot = 0;
  if (tile < tiles) stage_rows(stages[0], reflectors, begin + tile * 16, end, columns, team.lane);
  copy_commit();
  for (; tile < tiles; tile += k_panel_warps, slot ^= 1) {
    const int next = tile + k_panel_warps;
    if (next < tiles) {
      stage_rows(stages[slot ^ 1], reflectors, begin + next * 16, end, columns, team.lane);
    }
    copy_commit();
    copy_wait<1>();
    warp_barrier();
    accumulate_gram<Tiles>(gram, stages[slot], columns - k_panel, team.lane);
    warp_barrier();
  }
  copy_wait<0>();
  block_barrier();  // partial[] lies over every warp's stages
#pragma unroll
  for (int i = 0; i < Tiles * 16; ++i) {
    shared.tail.partial[team.warp][i * 32 + team.lane] = gram[i / 16][i / 4 % 4][i % 4];
  }
  block_barrier();
  for (int k = team.warp * 32 + team.lane; k < Tiles * 16 * 32; k += k_panel_warps * 32) {
    float sum = 0;
    for (int warp = 0; warp < k_panel_warps; ++warp) sum += shared.tail.partial[warp][k];
    shared.gram[k] = sum;
  }
}

/// Sums the blocks' Gram products and lays them out as a matrix [16 Tiles][32].
template <int Tiles, bool Cluster>
__device__ void gather_gram(PanelShared& shared, const Team& team) {
  for (int k = team.warp * 32 + team.lane; k < Tiles * 16 * 32; k += k_panel_warps * 32) {
    float sum = 0;
    if constexpr (Cluster) {
      for (int rank = 0; rank < team.ranks; ++rank) sum += load_twin(&shared.gram[k], rank);
    } else {
      sum = shared.gram[k];
    }
    const int value = k / 32, lane = k % 32;
    const int row = value / 16 * 16 + value % 4 / 2 * 8 + lane / 4;
    const int column = value / 4 % 4 * 8 + lane % 4 * 2 + value % 2;
    shared.tail.build.gram[row][column] = sum;
  }
}

/// One warp: the T of the panel alone into build.factor. Lane j solves for column j of
/// (I + striu(G) D)^-1 by back substitution.
__device__ __forceinline__ void invert_panel(PanelShared& shared, int offset, int lane) {
  auto& build = shared.tail.build;
  const float tau = shared.tau[lane];
#pragma unroll 4
  for (int i = 0; i < k_panel; ++i) build.unit[i][lane] = build.gram[offset + i][lane] * tau;
  warp_barrier();
  float x[k_panel];
#pragma unroll
  for (int i = k_panel - 1; i >= 0; --i) {
    float sum = i == lane ? 1 : 0;
#pragma unroll
    for (int k = i + 1; k < k_panel; ++k) sum = fmaf(-build.unit[i][k], x[k], sum);
    x[i] = sum;
  }
#pragma unroll
  for (int i = 0; i < k_panel; ++i) build.factor[i][lane] = shared.tau[i] * x[i];
}

/// All warps of one block: writes the panel's T and, for a second panel, the part that couples it
/// to the first. The lower triangle is written as zeros.
__device__ __forceinline__ void write_block_factor(float* block, PanelShared& shared, bool second,
                                                   const Team& team) {
  auto& build = shared.tail.build;
  const int offset = second ? k_panel : 0;
  for (int i = team.warp; i < k_panel; i += k_panel_warps) {
    block[(offset + i) * k_block + offset + team.lane] = build.factor[i][team.lane];
  }
  if (!second) return;
  for (int i = team.warp; i < k_panel; i += k_panel_warps) {
    float sum = 0;
    for (int k = 0; k < k_panel; ++k) sum = fmaf(build.gram[i][k], build.factor[k][team.lane], sum);
    build.product[i][team.lane] = sum;
  }
  block_barrier();
  for (int i = team.warp; i < k_panel; i += k_panel_warps) {
    float sum = 0;
    for (int k = i; k < k_panel; ++k) {
      sum = fmaf(-block[i * k_block + k], build.product[k][team.lane], sum);
    }
    block[i * k_block + k_panel + team.lane] = sum;
    block[(k_panel + i) * k_block + team.lane] = 0;
  }
}

/// The second panel's reflectors are zero in the first panel's 32 rows.
__device__ __forceinline__ void clear_above(std::uint16_t* reflectors, int column,
                                            const Team& team) {
  for (int k = team.warp * 32 + team.lane; k < k_panel * 8; k += k_panel_warps * 32) {
    const int row = k / 8, part = k / 4 % 2, unit = k % 4;
    std::uint16_t* to =
        reflectors + reflector_at(column - k_panel + row, k_panel + unit * 8) + part * k_low_part;
    *reinterpret_cast<uint4*>(to) = {0, 0, 0, 0};
  }
}

/// Called by the whole team once its reflectors are stored: rows [first, first + count) of the
/// panel are this block's. Writes T to task.block.
template <bool Cluster>
__device__ void build_block_factor(const PanelTask& task, std::int64_t matrix, int first, int count,
                                   PanelShared& shared, const Team& team) {
  std::uint16_t* reflectors = task.reflectors + matrix * reflector_elements(task.n);
  float* block = task.block + matrix * k_factor_elements;
  const int begin = task.column + first;
  const int end = begin + count < task.n ? begin + count : task.n;
  block_barrier();  // the block's own reflectors and tau are in place, parts[] is no longer read
  if (task.second) {
    if (team.rank == 0) clear_above(reflectors, task.column, team);
    gram_of_block<4>(reflectors, begin, end, shared, team);
  } else {
    gram_of_block<2>(reflectors, begin, end, shared, team);
  }
  team_barrier<Cluster>();
  if (team.rank == 0) {
    if (task.second) {
      gather_gram<4, Cluster>(shared, team);
    } else {
      gather_gram<2, Cluster>(shared, team);
    }
    block_barrier();
    if (team.warp == 0) invert_panel(shared, task.second ? k_panel : 0, team.lane);
    block_barrier();
    write_block_factor(block, shared, task.second, team);
  }
  if constexpr (Cluster) cluster_barrier();  // no block leaves while another may read its sums
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_BLOCK_FACTOR_CUH
