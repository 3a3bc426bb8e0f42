// One warp's work on one 64 x 64 block in one step of the reduction: subtract v w^T + w v^T of the
// last reflector, and multiply the block and its transpose by x.
//
// Lane l = 8 r + c owns, in either half of 32 rows, rows 8 r .. 8 r + 7 and the eight columns
// 4 c .. 4 c + 3 and 32 + 4 c .. 32 + 4 c + 3. Blocks outside the registers are stored in the order
// in which the lanes read them. Diagonal blocks are kept whole, which spares every mask: their
// transpose takes no part.
#ifndef KBENCH_EIGH_TRIDIAGONAL_BLOCK_PASS_CUH
#define KBENCH_EIGH_TRIDIAGONAL_BLOCK_PASS_CUH

#include "blocks.cuh"

namespace tridiagonal {

/// One lane's share of a block: [half][row][column].
using OwnBlock = float[2][8][8];

/// Where a lane finds group g (four columns) of its row number a, 0 to 15, in a stored block.
__device__ __forceinline__ int stored_at(int a, int group, int lane) {
  return (a * 2 + group) * 32 + lane;
}

struct StepVectors {
  const float *x, *v, *w;
  int n;  // entries from here on are zero, and so are rows of the matrix
};

/// What a pass over one block leaves behind.
struct PassOutput {
  float* row_sums;     // [64]: A x, of the block's rows
  float* column_sums;  // [64]: A^T x, of its columns; not written by diagonal blocks
  float* column;       // of the next pivot, by matrix row; null unless the block holds it
  int pivot;           // column within the block
};

/// Lanes with `bit` set keep `upper`, the others `lower`; each adds what its partner gave away.
__device__ __forceinline__ float fold(float lower, float upper, int bit, int lane) {
  const bool is_upper = (lane & bit) != 0;
  const float kept = is_upper ? upper : lower;
  const float given = is_upper ? lower : upper;
  return kept + shuffle_xor(given, bit);
}

/// Eight rows' sums over the eight lanes of a row group: lane c leaves with row c's.
__device__ __forceinline__ float fold_rows(const float (&sum)[8], int lane) {
  float four[4], two[2];
#pragma unroll
  for (int k = 0; k < 4; ++k) four[k] = fold(sum[k], sum[k + 4], 4, lane);
#pragma unroll
  for (int k = 0; k < 2; ++k) two[k] = fold(four[k], four[k + 2], 2, lane);
  return fold(two[0], two[1], 1, lane);
}

/// Eight columns' sums over the four row groups, two for each lane, stored to `to`.
__device__ __forceinline__ void fold_columns(const float (&sum)[8], float* to, int lane) {
  float four[4], two[2];
#pragma unroll
  for (int k = 0; k < 4; ++k) four[k] = fold(sum[k], sum[k + 4], 16, lane);
#pragma unroll
  for (int k = 0; k < 2; ++k) two[k] = fold(four[k], four[k + 2], 8, lane);
  float* at = to + (lane >> 4) * 32 + (lane & 7) * 4 + (lane >> 3 & 1) * 2;
  at[0] = two[0];
  at[1] = two[1];
}

__device__ __forceinline__ void load_four(float* to, const float* from) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

/// A vector's entries at the lane's eight columns.
__device__ __forceinline__ void load_columns(float (&side)[8], const float* vector, int at) {
  load_four(side, vector + at);
  load_four(side + 4, vector + at + 32);
}

/// The lane's rows a .. a + 3 of a stored block.
__device__ __forceinline__ void load_quarter(float (&to)[4][8], const float4* stored, int a,
                                             int lane) {
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const float4 four = stored[stored_at(a + k / 2, k % 2, lane)];
    float* at = to[k / 2] + k % 2 * 4;
    at[0] = four.x, at[1] = four.y, at[2] = four.z, at[3] = four.w;
  }
}
__device__ __forceinline__ void store_quarter(const float (&from)[4][8], float4* stored, int a,
                                              int lane) {
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const float* at = from[k / 2] + k % 2 * 4;
    stored[stored_at(a + k / 2, k % 2, lane)] = {at[0], at[1], at[2], at[3]};
  }
}

/// The pivot's entry of a row, if it is among the lane's columns.
__device__ __forceinline__ void extract(const PassOutput& output, const float (&a)[8], int row,
                                        int lane) {
  if ((lane & 7) != output.pivot % 32 / 4) return;
  const int mine = output.pivot / 32 * 4 + output.pivot % 4;
  float entry = a[0];
#pragma unroll
  for (int k = 1; k < 8; ++k) entry = mine == k ? a[k] : entry;
  output.column[row] = entry;
}

/// Works on one block. `own` holds it if `Own`, else `stored` does. Returns this lane's part of
/// x^T A x, both triangles counted.
template <bool Own>
__device__ __forceinline__ float pass_block(OwnBlock& own, float4* stored, const Place& place,
                                            const StepVectors& vectors, const PassOutput& output,
                                            int lane) {
  const bool diagonal = place.row == place.column;
  const int columns = place.column * k_side + (lane & 7) * 4;
  float side_x[8], side_v[8], side_w[8];
  load_columns(side_x, vectors.x, columns);
  load_columns(side_v, vectors.v, columns);
  load_columns(side_w, vectors.w, columns);
  float column_sum[8] = {};
  float form = 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int first = place.row * k_side + half * 32;
    if (first >= vectors.n) break;
    float row_sum[8];
#pragma unroll
    for (int quarter = 0; quarter < 2; ++quarter) {
      const int row = first + (lane >> 3) * 8 + quarter * 4;
      float loaded[4][8];
      if constexpr (!Own) load_quarter(loaded, stored, half * 8 + quarter * 4, lane);
      float x[4], v[4], w[4];
      load_four(v, vectors.v + row);
      load_four(w, vectors.w + row);
      load_four(x, vectors.x + row);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        float(&entry)[8] = Own ? own[half][quarter * 4 + k] : loaded[k];
#pragma unroll
        for (int c = 0; c < 8; ++c) {
          entry[c] -= v[k] * side_w[c];
          entry[c] -= w[k] * side_v[c];
        }
        float sum = 0;
#pragma unroll
        for (int c = 0; c < 8; ++c) {
          sum += entry[c] * side_x[c];
          column_sum[c] += entry[c] * x[k];
        }
        row_sum[quarter * 4 + k] = sum;
        if (output.column != nullptr) extract(output, entry, row + k, lane);
      }
      if constexpr (!Own) store_quarter(loaded, stored, half * 8 + quarter * 4, lane);
    }
    const float sum = fold_rows(row_sum, lane);
    output.row_sums[half * 32 + lane] = sum;
    form += sum * vectors.x[first + lane];
  }
  if (!diagonal) fold_columns(column_sum, output.column_sums, lane);
  return diagonal ? form : 2 * form;
}

}  // namespace tridiagonal

#endif  // KBENCH_EIGH_TRIDIAGONAL_BLOCK_PASS_CUH
