// The tensor-core products of one warp: 32 columns of C against K reflectors, of one block or of a
// pair of blocks.
//
// All products are transposed, C^T V and (T^T W)^T V^T, so that the accumulators of one product
// have the layout in which the next takes its left operand: a chain of products stays in
// registers. Every FP32 product is three BF16 products: high high, high low, low high.
#ifndef KBENCH_QR_BLOCKED_APPLY_PRODUCTS_CUH
#define KBENCH_QR_BLOCKED_APPLY_PRODUCTS_CUH

#include "layout.cuh"

namespace blocked {

constexpr int k_warp_columns = 32;
constexpr int k_tile_rows = 16;

/// One lane's share of a 16-row, 32-column tile of C: rows 2t, 2t + 1, 2t + 8, 2t + 9 (t = lane
/// modulo 4), columns 4g .. 4g + 3 (g = lane / 4), at [4 row + column]. The left operand's row g
/// of half h stands for column 4g + 2h, its row g + 8 for column 4g + 2h + 1.
using Tile = float[16];

template <int K>
struct Products {
  static constexpr int k_width = K < k_block ? K : k_block;  // reflectors of one block
  static constexpr int k_blocks = K / k_width;
  static constexpr int k_pitch = padded(2 * K);   // of a row of reflectors: high parts, then low
  static constexpr int k_pairs = k_width / 16;    // of 8-column tiles, or steps of 16 reflectors
  using BlockProduct = float[2][k_width / 8][4];  // half, tile of 8 reflectors
  using BlockOperand = std::uint32_t[2][2][k_pairs][4];  // part, half, step
  using Product = BlockProduct[k_blocks];
  using Operand = BlockOperand[k_blocks];
  static constexpr int k_between = K / 32 - 1;  // project() and update() call back behind this step
  /// T of one block; of a pair T of the first, S = V_1^T V_2 and T of the second.
  static constexpr int k_factors = 2 * k_blocks - 1;
  using Factor = const std::uint16_t (*)[k_width][padded(k_width)];  // high parts, then low

  /// The k-th of the K values that a lane holds of a product.
  __device__ __forceinline__ static float& value(Product& product, int k) {
    const int of_block = k % k_width;
    return product[k / k_width][of_block / (k_width / 2)][of_block / 4 % (k_width / 8)][k % 4];
  }

  /// The two 16x16 halves of the left operand times one pair of column tiles.
  __device__ __forceinline__ static void multiply_three(BlockProduct& product,
                                                        const std::uint32_t (&high)[2][4],
                                                        const std::uint32_t (&low)[2][4],
                                                        const std::uint32_t (&right)[2][4],
                                                        int pair) {
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

  /// Where, in 16 rows of reflectors, the rows lie
  /// that a lane names to load tiles: for project() and for update().
  __device__ __forceinline__ static int project_place(int lane) {
    return (lane / 8 % 2 * 8 + lane % 8) * k_pitch + lane / 16 * 8;
  }
  __device__ __forceinline__ static int update_place(int lane) {
    return (lane / 16 * 8 + lane % 8) * k_pitch + lane / 8 % 2 * 8;
  }

  /// product += C^T V over the 16 rows of a tile; `row`: the lane's place in their reflectors.
  /// `between` is done between the products, which hide what it waits for.
  template <class Between>
  __device__ __forceinline__ static void project(Product& product, const Tile& c,
                                                 const std::uint16_t* row, const Between& between) {
    std::uint32_t left[2][2][4];  // part, half
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const int first = q / 2 * 8 + half * 2 + q % 2;
        const BfPair pair = split(c[first], c[first + 4]);
        left[0][half][q] = pair.high;
        left[1][half][q] = pair.low;
      }
    }
#pragma unroll
    for (int pair = 0; pair < K / 16; ++pair) {
      std::uint32_t right[2][4];
      load_tiles_transposed(right[0], &row[pair * 16]);
      load_tiles_transposed(right[1], &row[K + pair * 16]);
      multiply_three(product[pair / k_pairs], left[0], left[1], right, pair % k_pairs);
      if (pair == k_between) between();
    }
  }

  /// sign times the product as a left operand of BF16 pairs.
  __device__ __forceinline__ static void as_operand(BlockOperand& operand,
                                                    const BlockProduct& product, float sign) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int pair = 0; pair < k_pairs; ++pair) {
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          const auto& from = product[half][2 * pair + q / 2];
          const BfPair two = split(sign * from[q % 2 * 2], sign * from[q % 2 * 2 + 1]);
          operand[0][half][pair][q] = two.high;
          operand[1][half][pair][q] = two.low;
        }
      }
    }
  }

  /// weighted += W^T T for W^T in `product`; of an `Upper` T the blocks below the diagonal are
  /// zero.
  template <bool Upper>
  __device__ __forceinline__ static void weigh(BlockProduct& weighted, const BlockOperand& product,
                                               Factor factor, int lane) {
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
      for (int pair = Upper ? inner : 0; pair < k_pairs; ++pair) {
        std::uint32_t right[2][4];
        load_tiles_transposed(right[0], &factor[0][row][pair * 16 + tile / 2 * 8]);
        load_tiles_transposed(right[1], &factor[1][row][pair * 16 + tile / 2 * 8]);
        multiply_three(weighted, high, low, right, pair);
      }
    }
  }

  /// weights = -Y^T for Y = T^T W. Of a pair Y_1 = T_1^T W_1 and Y_2 = T_2^T (W_2 - S^T Y_1), since
  /// the second block meets what the first has left: `product` = V^T C is that of C as it was.
  __device__ __forceinline__ static void find_weights(Operand& weights, Product& product,
                                                      const Factor (&factors)[k_factors],
                                                      int lane) {
#pragma unroll
    for (int block = 0; block < k_blocks; ++block) {
      if (block > 0) weigh<false>(product[block], weights[block - 1], factors[2 * block - 1], lane);
      BlockOperand operand;
      as_operand(operand, product[block], 1);
      BlockProduct weighted = {};
      weigh<true>(weighted, operand, factors[2 * block], lane);
      as_operand(weights[block], weighted, -1);
    }
  }

  /// c += `down` (weights V^T)^T over the 16 rows of a tile; `row` as for project(). The tensor
  /// cores round toward zero, so C is added to their sum, not they to C.
  template <class Between>
  __device__ __forceinline__ static void update(Tile& c, const Operand& weights, float down,
                                                const std::uint16_t* row, const Between& between) {
    float sum[2][2][4] = {};  // half, tile of eight rows
#pragma unroll
    for (int pair = 0; pair < K / 16; ++pair) {
      const BlockOperand& own = weights[pair / k_pairs];
      std::uint32_t right[2][4];
      load_tiles(right[0], &row[pair * 16]);
      load_tiles(right[1], &row[K + pair * 16]);
#pragma unroll
      for (int term = 0; term < 3; ++term) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
#pragma unroll
          for (int side = 0; side < 2; ++side) {
            multiply_add(sum[half][side], own[term == 2][half][pair % k_pairs],
                         right[term == 1][2 * side], right[term == 1][2 * side + 1]);
          }
        }
      }
      if (pair == k_between) between();
    }
#pragma unroll
    for (int k = 0; k < 16; ++k) {
      c[place(k)] = fmaf(sum[k / 8][k / 4 % 2][k % 4], down, c[place(k)]);
    }
  }

  /// Where the k-th accumulator (half, tile of rows, value) lies in a Tile.
  __device__ __forceinline__ static constexpr int place(int k) {
    return (k / 4 % 2 * 2 + k % 2) * 4 + k / 8 * 2 + k % 4 / 2;
  }
};

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_APPLY_PRODUCTS_CUH
