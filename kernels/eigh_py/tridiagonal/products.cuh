// The tensor-core products of one warp: 32 columns of C against a block of 64 reflectors.
//
// All products are transposed, C^T V and (T^T W)^T V^T, so that the accumulators of one product
// have the layout in which the next takes its left operand: a chain of products stays in
// registers. Every FP32 product is three FP16 products: high high, high low, low high.
#ifndef KBENCH_EIGH_TRIDIAGONAL_PRODUCTS_CUH
#define KBENCH_EIGH_TRIDIAGONAL_PRODUCTS_CUH

#include "reflectors.cuh"

namespace tridiagonal {

constexpr int k_warp_columns = 32;
constexpr int k_tile_rows = 16;

/// Leading dimension of a 16-bit tile in shared memory with `columns` (a multiple of 16) columns:
/// the rows of an 8x8 tile then start in eight different groups of four banks.
constexpr int padded(int columns) { return columns + 8; }

/// One lane's share of a 16-row, 32-column tile of C: rows 2t, 2t + 1, 2t + 8, 2t + 9 (t = lane
/// modulo 4), columns 4g .. 4g + 3 (g = lane / 4), at [4 row + column]. The left operand's row g
/// of half h stands for column 4g + 2h, its row g + 8 for column 4g + 2h + 1.
using Tile = float[16];

constexpr int k_pairs = k_block / 16;             // pairs of 8-column tiles, or steps of 16
using Product = float[2][k_block / 8][4];         // half, tile of 8 reflectors
using Operand = std::uint32_t[2][2][k_pairs][4];  // part, half, step
using ReflectorRows = const std::uint16_t (*)[padded(2 * k_block)];     // high parts, then low
using FactorParts = const std::uint16_t (*)[k_block][padded(k_block)];  // high parts, then low

/// The two 16x16 halves of the left operand times one pair of column tiles.
__device__ __forceinline__ void multiply_three(Product& product, const std::uint32_t (&high)[2][4],
                                               const std::uint32_t (&low)[2][4],
                                               const std::uint32_t (&right)[2][4], int pair) {
#pragma unroll
  for (int term = 0; term < 3; ++term) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        multiply_add(product[half][2 * pair + side], term == 2 ? low[half] : high[half],
                     right[term == 1][2 * side], right[term == 1][2 * side + 1]);
      }
    }
  }
}

/// product += C^T V over the 16 rows of a tile.
__device__ __forceinline__ void project(Product& product, const Tile& c, ReflectorRows rows,
                                        int lane) {
  std::uint32_t left[2][2][4];  // part, half
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const int first = q / 2 * 8 + half * 2 + q % 2;
      const HalfPair pair = split(c[first], c[first + 4]);
      left[0][half][q] = pair.high;
      left[1][half][q] = pair.low;
    }
  }
  const int tile = lane / 8;
  const auto& row = rows[tile % 2 * 8 + lane % 8];
#pragma unroll
  for (int pair = 0; pair < k_pairs; ++pair) {
    std::uint32_t right[2][4];
    load_tiles_transposed(right[0], &row[pair * 16 + tile / 2 * 8]);
    load_tiles_transposed(right[1], &row[k_block + pair * 16 + tile / 2 * 8]);
    multiply_three(product, left[0], left[1], right, pair);
  }
}

/// sign times the product as a left operand of FP16 pairs.
__device__ __forceinline__ void as_operand(Operand& operand, const Product& product, float sign) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int pair = 0; pair < k_pairs; ++pair) {
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const auto& from = product[half][2 * pair + q / 2];
        const HalfPair two = split(sign * from[q % 2 * 2], sign * from[q % 2 * 2 + 1]);
        operand[0][half][pair][q] = two.high;
        operand[1][half][pair][q] = two.low;
      }
    }
  }
}

/// weighted = W^T T for W^T in `product`; blocks of T below the diagonal are zero.
__device__ __forceinline__ void weigh(Product& weighted, const Operand& product, FactorParts factor,
                                      int lane) {
  const int tile = lane / 8, line = lane % 8;
#pragma unroll
  for (int inner = 0; inner < k_pairs; ++inner) {
    std::uint32_t high[2][4], low[2][4];
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      high[k / 4][k % 4] = product[0][k / 4][inner][k % 4];
      low[k / 4][k % 4] = product[1][k / 4][inner][k % 4];
    }
    const int row = inner * 16 + tile % 2 * 8 + line;
#pragma unroll
    for (int pair = inner; pair < k_pairs; ++pair) {
      std::uint32_t right[2][4];
      load_tiles_transposed(right[0], &factor[0][row][pair * 16 + tile / 2 * 8]);
      load_tiles_transposed(right[1], &factor[1][row][pair * 16 + tile / 2 * 8]);
      multiply_three(weighted, high, low, right, pair);
    }
  }
}

/// Where the k-th accumulator (half, tile of rows, value) lies in a Tile.
__device__ __forceinline__ constexpr int place_in_tile(int k) {
  return (k / 4 % 2 * 2 + k % 2) * 4 + k / 8 * 2 + k % 4 / 2;
}

/// c += (weights V^T)^T over the 16 rows of a tile.
__device__ __forceinline__ void update(Tile& c, const Operand& weights, ReflectorRows rows,
                                       int lane) {
  float sum[2][2][4];  // half, tile of eight rows
#pragma unroll
  for (int k = 0; k < 16; ++k) sum[k / 8][k / 4 % 2][k % 4] = c[place_in_tile(k)];
  const int tile = lane / 8;
  const auto& row = rows[tile / 2 * 8 + lane % 8];
#pragma unroll
  for (int pair = 0; pair < k_pairs; ++pair) {
    std::uint32_t right[2][4];
    load_tiles(right[0], &row[pair * 16 + tile % 2 * 8]);
    load_tiles(right[1], &row[k_block + pair * 16 + tile % 2 * 8]);
#pragma unroll
    for (int term = 0; term < 3; ++term) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int side = 0; side < 2; ++side) {
          multiply_add(sum[half][side], weights[term == 2][half][pair], right[term == 1][2 * side],
                       right[term == 1][2 * side + 1]);
        }
      }
    }
  }
#pragma unroll
  for (int k = 0; k < 16; ++k) c[place_in_tile(k)] = sum[k / 8][k / 4 % 2][k % 4];
}

}  // namespace tridiagonal

#endif  // KBENCH_EIGH_TRIDIAGONAL_PRODUCTS_CUH
