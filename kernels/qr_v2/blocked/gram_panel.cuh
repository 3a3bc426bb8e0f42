// Factors a panel of 64 columns from its Gram matrix: one pass over its rows for the Gram matrix,
// 64 steps on matrices of 64 x 64, one pass that writes the reflectors.
// Where a column of the panel nearly depends on others it writes nothing and leaves the panel, by a
// flag, to the exact panels (panel.cuh), which are launched after it.
//
// T needs no pass of its own: V_tail = P_tail M gives V^T V = -L^T R M, three triangles of 64.
#ifndef KBENCH_QR_BLOCKED_GRAM_PANEL_CUH
#define KBENCH_QR_BLOCKED_GRAM_PANEL_CUH

#include "gram_factor.cuh"

namespace blocked {

/// Runs work(i, c) for this warp's 8 x 8 tiles (i, c) on and above the diagonal.
template <class Work>
__device__ __forceinline__ void each_upper_tile(const Team& team, const Work& work) {
#pragma unroll 1
  for (int slot = team.warp; slot < k_gram_tiles; slot += team.warps) {
    int tile = slot, i = 0;
    for (; tile >= 8 - i; ++i) tile -= 8 - i;
    work(i, i + tile);
  }
}

/// Elements 2 (lane % 4) + {0, 1} of row lane / 4 of a product's tile over the inner indices
/// [begin, end), eight at a time in two chains; the lane brings `left(k)` and `right(k)`.
template <class Left, class Right>
__device__ __forceinline__ void multiply_tile(double (&sum)[2], int begin, int end,
                                              const Left& left, const Right& right) {
  double even[2] = {}, odd[2] = {};
#pragma unroll 2
  for (int k = begin; k < end; k += 8) {
    multiply_add(even, left(k), right(k));
    multiply_add(odd, left(k + 4), right(k + 4));
  }
  sum[0] = even[0] + odd[0], sum[1] = even[1] + odd[1];
}

/// product = R M. Both are upper triangles; the tiles below the diagonal are left alone.
__device__ __forceinline__ void multiply_triangles(GramShared& shared, const Team& team) {
  const int line = team.lane / 4, inner = team.lane % 4;
  each_upper_tile(team, [&](int i, int c) {
    const int row = i * 8 + line, column = c * 8 + line;
    double sum[2];
    multiply_tile(
        sum, i * 8, c * 8 + 8,
        [&](int k) { return k + inner >= row ? shared.mixed[row][k + inner] : 0; },
        [&](int k) { return shared.weights[k + inner][swizzled(k + inner, column)]; });
    shared.product[row][c * 8 + 2 * inner] = sum[0];
    shared.product[row][c * 8 + 2 * inner + 1] = sum[1];
  });
}

/// The strict upper triangle of U = I + striu(V^T V) D in the place of R, V^T V = -L^T product.
__device__ __forceinline__ void find_reflector_gram(GramShared& shared, const Team& team) {
  const int line = team.lane / 4, inner = team.lane % 4;
  each_upper_tile(team, [&](int i, int c) {
    const int row = i * 8 + line;
    double sum[2];
    multiply_tile(
        sum, i * 8, c * 8 + 8,
        [&](int k) {
          const int middle = k + inner;
          return middle > row ? shared.mixed[middle][row] : middle == row ? 1 : 0;
        },
        [&](int k) { return shared.product[k + inner][c * 8 + line]; });
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const int column = c * 8 + 2 * inner + k;
      if (row < column) shared.mixed[row][column] = -sum[k] * shared.tau[column];
    }
  });
}

/// Row i of the inverse of U's diagonal block that holds it, into `product`.
__device__ __forceinline__ void invert_row(GramShared& shared, int i) {
  const int base = i / k_side * k_side;
  double x[k_side];
#pragma unroll
  for (int j = 0; j < k_side; ++j) x[j] = i == base + j;
#pragma unroll 1
  for (int j = 0; j < k_side; ++j) {
    const double done = x[0], *row = shared.mixed[base + j];
    shared.product[i][base + j] = done;
#pragma unroll
    for (int k = 0; k + 1 < k_side; ++k) {
      const int column = base + j + 1 + k;  // behind the block nothing is used
      x[k] = fma(-row[column < k_block ? column : 0], done, x[k + 1]);
    }
  }
}

/// Writes T = D U^-1, whole, to `block` [k_block, k_block]. Uses up R and L. `barrier` is that of
/// the team's warps.
template <class Barrier>
__device__ __forceinline__ void write_gram_factor(float* block, GramShared& shared,
                                                  const Team& team, const Barrier& barrier) {
  const int thread = team.warp * 32 + team.lane;
  multiply_triangles(shared, team);
  barrier();
  find_reflector_gram(shared, team);
  barrier();
  if (thread < k_block) invert_row(shared, thread);
  barrier();
  const auto inverse_at = [&](int i, int c) -> double& { return shared.product[i][c]; };
#pragma unroll 1
  for (int side = k_side; side < k_block; side *= 2) {
    join_inverses(shared.mixed, inverse_at, side, team, barrier);
  }
#pragma unroll 4
  for (int k = thread; k < k_block * k_block; k += team.warps * 32) {
    const int i = k / k_block, c = k % k_block;
    block[k] = i <= c ? static_cast<float>(shared.tau[i] * shared.product[i][c]) : 0;
  }
}

/// What the tail of a panel is read from and written to; addresses of the panel's first row.
struct GramTail {
  const float* source;
  float* factor;
  std::uint16_t* reflectors;
  std::int64_t n;
  GramRows rows;
  bool vector;
};

/// A lane's four neighbouring reflector elements of one row: FP32 into H, BF16 pairs into V.
__device__ __forceinline__ void store_tail(const GramTail& tail, int row, int column,
                                           const double (&v)[4]) {
  if (row >= tail.rows.end) return;
  const float x[4] = {static_cast<float>(v[0]), static_cast<float>(v[1]), static_cast<float>(v[2]),
                      static_cast<float>(v[3])};
  float* to = tail.factor + row * tail.n + column;
  if (tail.vector) {
    *reinterpret_cast<float4*>(to) = {x[0], x[1], x[2], x[3]};
  } else {
#pragma unroll
    for (int c = 0; c < 4; ++c) to[c] = x[c];
  }
  const BfPair first = split(x[0], x[1]), second = split(x[2], x[3]);
  std::uint16_t* pair = tail.reflectors + reflector_at(row, column);
  *reinterpret_cast<uint2*>(pair) = {first.high, second.high};
  *reinterpret_cast<uint2*>(pair + k_low_part) = {first.low, second.low};
}

constexpr int k_tail_units = 16 * (k_block / 4);  // of four columns: 16 rows of a warp
static_assert(k_gram_stage_bytes <= k_wide_gram_warps * k_tail_units * sizeof(float4));

/// Shared memory of a panel: where it has a multiprocessor for itself, the rows of the tail that
/// its warps work on follow the rest.
constexpr int gram_shared_bytes(int warps) {
  const int rows = warps > k_gram_warps ? warps * k_tail_units : 0;
  return static_cast<int>(sizeof(GramShared)) + rows * static_cast<int>(sizeof(float4));
}

/// A warp's 16 rows of the tail, else over `product`.
template <int Warps>
__device__ __forceinline__ float4* tail_rows(GramShared& shared, int warp) {
  auto* first = Warps > k_gram_warps ? reinterpret_cast<float4*>(&shared + 1)
                                     : reinterpret_cast<float4*>(&shared.product[0][0]);
  return first + warp * k_tail_units;
}

/// Where four neighbouring columns of a row of the tail lie on their way: the eight lanes that read
/// together, four such units of two rows, meet no bank twice.
__device__ __forceinline__ constexpr int tail_unit(int row, int unit) {
  return row * (k_block / 4) + (unit ^ (row & 1) << 2);
}

/// Starts the copy of a warp's 16 rows from `base` on; rows outside become zero.
__device__ __forceinline__ void fetch_tail(float4* to, const GramTail& tail, int base, int lane) {
  const int unit = lane % 16, n = static_cast<int>(tail.n), left = tail.rows.end - base - lane / 16;
  const float* from = tail.source + (base + lane / 16) * tail.n + unit * 4;  // read where inside
  float4* at = to + tail_unit(lane / 16, unit);
  if (tail.vector) {
#pragma unroll
    for (int line = 0; line < 16; line += 2) {
      copy_async(at + line * (k_block / 4), from + line * n, line < left);
    }
  } else {
#pragma unroll 1
    for (int k = 0; k < 32; ++k) {
      const int line = k / 4 * 2, c = k % 4;
      copy_async_word(reinterpret_cast<float*>(at + line * (k_block / 4)) + c, from + line * n + c,
                      line < left);
    }
  }
  copy_commit();
}

/// The first row of the tail that a warp works on.
__device__ __forceinline__ int first_tail_row(const GramTail& tail, const Team& team) {
  return (tail.rows.begin > k_block ? tail.rows.begin : k_block) + team.warp * 16;
}

/// V_tail = P_tail M in FP64, 16 rows of a warp at a time, the first ones under way to `own`, the
/// next ones soon; in place, since a row depends on itself alone. Inner column 16 q + 4 (lane % 4)
/// + s is step (q, s), outer column 16 u + 4 (lane % 4) + 2 e + {0, 1} tile (u, e): so both sides
/// are read and written as vectors.
__device__ __forceinline__ void write_tail(const GramTail& tail, float4* own, GramShared& shared,
                                           const Team& team) {
  const int line = team.lane / 4, inner = team.lane % 4;
  // The swizzle of rows 16 q + 4 inner + s depends on `inner` alone.
  const int row = inner * 4, column = line / 2 * 4 + line % 2;
  const double* weights[2] = {&shared.weights[row][swizzled(row, column)],
                              &shared.weights[row][swizzled(row, column + 2)]};
#pragma unroll 1
  for (int base = first_tail_row(tail, team); base < tail.rows.end; base += team.warps * 16) {
    copy_wait<0>();
    warp_barrier();
    double p[2][4][4];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const float4 four = own[tail_unit(half * 8 + line, q * 4 + inner)];
        p[half][q][0] = four.x, p[half][q][1] = four.y;
        p[half][q][2] = four.z, p[half][q][3] = four.w;
      }
    }
    warp_barrier();
    fetch_tail(own, tail, base + team.warps * 16, team.lane);
#pragma unroll 1
    for (int u = 0; u < 4; ++u) {
      double v[2][4] = {};  // e, then value and half as the product has them
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        if (q > u) break;
#pragma unroll
        for (int s = 0; s < 4; s += 2) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const double* weight = weights[e] + (q * 16 + s) * k_block + u * 16;
            multiply_add(v[e], {p[0][q][s], p[1][q][s], p[0][q][s + 1], p[1][q][s + 1]},
                         {weight[0], weight[k_block]});
          }
        }
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        store_tail(tail, base + half * 8 + line, u * 16 + inner * 4,
                   {v[0][2 * half], v[0][2 * half + 1], v[1][2 * half], v[1][2 * half + 1]});
      }
    }
  }
}

/// The panel's top 64 rows: R and L into H, the unit triangle L into V.
__device__ __forceinline__ void write_top(const GramTail& tail, const GramShared& shared,
                                          int thread, int threads) {
  for (int k = thread; k < k_block * k_block / 2; k += threads) {
    const int row = k / (k_block / 2), column = k % (k_block / 2) * 2;
    float v[2];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const auto x = static_cast<float>(shared.mixed[row][column + e]);
      tail.factor[row * tail.n + column + e] = x;
      v[e] = row > column + e ? x : row == column + e ? 1 : 0;
    }
    const BfPair pair = split(v[0], v[1]);
    std::uint16_t* to = tail.reflectors + reflector_at(row, column);
    *reinterpret_cast<std::uint32_t*>(to) = pair.high;
    *reinterpret_cast<std::uint32_t*>(to + k_low_part) = pair.low;
  }
}

/// Grid: batch x ranks blocks, which share out the panel's rows by 64; the first holds the top.
/// The panel has 64 columns and at least as many rows.
template <bool Cluster, int Warps>
__global__ void __launch_bounds__(Warps * 32, 16 / Warps) factor_gram_panel(const PanelTask task) {
  GramShared& shared = shared_as<GramShared>();
  const int thread = static_cast<int>(threadIdx.x);
  const Team team{thread % 32, thread / 32, Warps, Cluster ? cluster_rank() : 0,
                  Cluster ? task.ranks : 1};
  const std::int64_t n = task.n;
  const std::int64_t matrix = static_cast<std::int64_t>(blockIdx.x) / team.ranks;
  const std::int64_t corner = matrix * n * n + task.column * n + task.column;
  const int m = task.n - task.column;
  const int share = ((m + team.ranks - 1) / team.ranks + k_block - 1) / k_block * k_block;
  const int begin = team.rank * share;
  const GramRows rows{begin, begin + share < m ? begin + share : m};
  const GramTail tail{
      task.source + corner,
      task.factor + corner,
      task.reflectors + matrix * reflector_elements(n) + reflector_at(task.column, 0),
      n,
      rows,
      task.n % 4 == 0};

  if (thread < k_told) {
    prepare_message(shared.c_told[thread], 32);
    prepare_message(shared.l_told[thread], 32);
  }
  sum_gram<Cluster, Warps>(
      shared, {tail.source, n, rows, tail.vector},
      [&] { return load_top(shared, tail.source, n, thread, Warps * 32); }, team);
  // T is found by the last block, which has the fewest rows: by half of its warps beside the tail,
  // or by all of them after it.
  const bool last = team.rank == team.ranks - 1, beside = Warps > k_gram_warps && last;
  const Team on_tail{team.lane, team.warp, beside ? Warps / 2 : Warps, team.rank, team.ranks};
  float4* own = tail_rows<Warps>(shared, team.warp);
  if (Warps > k_gram_warps) fetch_tail(own, tail, first_tail_row(tail, on_tail), team.lane);
  const bool done = factor_gram(shared, team);
  if (team.rank == 0 && thread == 0) task.doubtful[matrix] = done ? 0 : 1;
  if (!done) return copy_wait<0>();
  if (team.rank == 0) {
    write_top(tail, shared, thread, Warps * 32);
    if (thread < k_block) {
      task.tau[matrix * n + task.column + thread] = static_cast<float>(shared.tau[thread]);
    }
  }
  float* block = task.block + matrix * k_factor_elements;
  if (beside) {
    block_barrier();  // the top is written: R and L may be used up
    if (team.warp >= Warps / 2) {
      const auto barrier = [] { part_barrier(1, Warps / 2 * 32); };
      const Team on_factor{team.lane, team.warp - Warps / 2, Warps / 2, team.rank, team.ranks};
      write_gram_factor(block, shared, on_factor, barrier);
      return copy_wait<0>();
    }
  }
  if (Warps == k_gram_warps) fetch_tail(own, tail, first_tail_row(tail, on_tail), team.lane);
  write_tail(tail, own, shared, on_tail);
  copy_wait<0>();
  if (last && !beside) {
    block_barrier();  // R and L are used up, and the rows over `product` read
    write_gram_factor(block, shared, team, block_barrier);
  }
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_GRAM_PANEL_CUH
