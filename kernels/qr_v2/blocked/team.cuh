// The team of one panel: all threads of the block, or of the cluster of blocks, that factors a
// panel together; how its parts exchange partial sums; the scalars of one reflector.
//
// Every thread of the team adds the same partial sums in the same order, so all of them compute
// the same reflector bit for bit and no result has to be broadcast.
#ifndef KBENCH_QR_BLOCKED_TEAM_CUH
#define KBENCH_QR_BLOCKED_TEAM_CUH

#include "layout.cuh"

namespace blocked {

constexpr int k_panel_warps = 4;
constexpr int k_max_ranks = 8;  // the largest portable cluster
constexpr int k_max_parts = k_panel_warps * k_max_ranks;
constexpr int k_pivot_row = k_max_parts;  // the slot after the partial sums

/// What one panel launch works on. `ranks` blocks share a matrix.
struct PanelTask {
  const float* source;        // [batch, n, n] row-major, read for the panel's columns
  float* factor;              // [batch, n, n] row-major, may be `source`
  float* tau;                 // [batch, n]
  std::uint16_t* reflectors;  // [batch, reflector_elements(n)] BF16, see reflector_at()
  float* block;               // [batch, k_block, k_block]: T of the block reflector
  int* doubtful;              // [batch]: 1 where a panel's Gram matrix did not do; may be null
  int n;
  int column;       // first column and first row of the panel
  int ranks;        // blocks per matrix
  bool second;      // the panel is the second of its block
  bool keep_block;  // columns follow that need the reflectors
};

/// Whether a matrix was left to the exact kernels; all are where no Gram panel came first.
__device__ __forceinline__ bool is_left_over(const int* doubtful, std::int64_t matrix) {
  return doubtful == nullptr || doubtful[matrix] != 0;
}

/// Shared memory of a panel. `parts` has two copies: a part may still read one step's sums while
/// another already writes the next step's.
struct PanelShared {
  union {
    float parts[2][k_max_parts + 1][k_panel];
    float gram[k_block * k_panel];
  };
  float weights[k_panel_warps][k_panel];  // private to each warp
  float pivot[k_panel];                   // private to the warp that holds the pivot rows
  float tau[k_panel];
  union {  // after the factorisation only, so that a panel alone needs none of it
    std::uint16_t staging[k_panel_warps][2][16][padded(2 * k_block)];
    float partial[k_panel_warps][k_block * k_panel];
    struct {
      float gram[k_block][k_panel + 1];
      float unit[k_panel][k_panel + 1];
      float factor[k_panel][k_panel + 1];
      float product[k_panel][k_panel + 1];
    } build;
  } tail;
};

struct Team {
  int lane, warp, warps, rank, ranks;
  unsigned parity = 0;
  __device__ bool holds_pivots() const { return rank == 0 && warp == 0; }
  __device__ int part() const { return rank * warps + warp; }
  __device__ int parts() const { return ranks * warps; }
};

template <bool Cluster>
__device__ __forceinline__ void team_barrier() {
  if constexpr (Cluster) {
    cluster_barrier();
  } else {
    block_barrier();
  }
}

/// Writes to the same shared variable of every block of the team.
template <bool Cluster>
__device__ __forceinline__ void publish(float* slot, const Team& team, float value) {
  if constexpr (Cluster) {
    for (int rank = 0; rank < team.ranks; ++rank) store_twin(slot, rank, value);
  } else {
    *slot = value;
  }
}

/// Powers of two: `up` brings a column whose largest magnitude has these bits into [1, 2), or as
/// near as both factors stay normal; `down` is its exact inverse.
struct ColumnScale {
  float up, down;
};
__device__ __forceinline__ ColumnScale scale_of(unsigned largest) {
  const int wanted = 254 - static_cast<int>(largest >> 23);
  const int exponent = wanted < 1 ? 1 : wanted > 253 ? 253 : wanted;
  return {__uint_as_float(static_cast<unsigned>(exponent) << 23),
          __uint_as_float(static_cast<unsigned>(254 - exponent) << 23)};
}

/// Below this squared norm (of a column whose largest element was near 1) squares of the tail may
/// be subnormal; the step is then repeated with the column multiplied by k_boost.
constexpr float k_small_square = 0x1p-80f;
constexpr float k_boost = 0x1p90f;
constexpr float k_unboost = 0x1p-90f;

/// H = I - tau v v^T with v = (1, inverse * tail) and H (alpha, tail)^T = (beta, 0)^T.
struct Reflector {
  float tau, inverse, beta;
};
/// LAPACK's conventions: beta has the sign opposite to alpha; a zero tail gives tau = 0, H = I.
__device__ __forceinline__ Reflector reflect(float alpha, float tail_square) {
  if (tail_square == 0) return {0, 0, alpha};
  const float norm = sqrtf(fmaf(alpha, alpha, tail_square));
  const float beta = -copysignf(norm, alpha);
  return {(beta - alpha) / beta, 1 / (alpha - beta), beta};
}

/// The team's sum of what the lanes with this number published. The loads are independent of each
/// other, which is worth more than the ones spent on absent ranks; adding their zeros is exact.
template <bool Cluster>
__device__ __forceinline__ float sum_parts(const float (&parts)[k_max_parts + 1][k_panel],
                                           const Team& team) {
  constexpr int most = Cluster ? k_max_ranks : 1;
  float sum[most];
#pragma unroll
  for (int rank = 0; rank < most; ++rank) {
    sum[rank] = 0;
    if (rank >= team.ranks) continue;
    const int part = rank * team.warps;
    if (team.warps == k_panel_warps) {
      sum[rank] = (parts[part][team.lane] + parts[part + 1][team.lane]) +
                  (parts[part + 2][team.lane] + parts[part + 3][team.lane]);
    } else {
      sum[rank] = parts[part][team.lane];
    }
  }
#pragma unroll
  for (int half = most / 2; half > 0; half /= 2) {
#pragma unroll
    for (int rank = 0; rank < half; ++rank) sum[rank] += sum[rank + half];
  }
  return sum[0];
}

/// One exchange: after it lane c of every warp holds the team's sum of what the lanes c published,
/// the pivot row's element c, and its element 0.
struct Exchanged {
  float sum, pivot, alpha;
};
template <bool Cluster>
__device__ __forceinline__ Exchanged exchange(PanelShared& shared, Team& team) {
  team_barrier<Cluster>();
  const auto& parts = shared.parts[team.parity];
  team.parity ^= 1u;
  return {sum_parts<Cluster>(parts, team), parts[k_pivot_row][team.lane], parts[k_pivot_row][0]};
}

/// Largest magnitude of each column over the team, lane c holding column c. `own` likewise.
template <bool Cluster>
__device__ __forceinline__ unsigned exchange_largest(PanelShared& shared, Team& team,
                                                     unsigned own) {
  publish<Cluster>(&shared.parts[team.parity][team.part()][team.lane], team, __uint_as_float(own));
  team_barrier<Cluster>();
  unsigned largest = 0;
  for (int part = 0; part < team.parts(); ++part) {
    const unsigned other = __float_as_uint(shared.parts[team.parity][part][team.lane]);
    largest = other > largest ? other : largest;
  }
  team.parity ^= 1u;
  return largest;
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_TEAM_CUH
