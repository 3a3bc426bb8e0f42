// One launch after another into a plan: which kernel, how many blocks share a panel or a strip, and
// how much of C stays in shared memory.
#ifndef KBENCH_QR_BLOCKED_ADD_LAUNCH_CUH
#define KBENCH_QR_BLOCKED_ADD_LAUNCH_CUH

#include "gram_panel.cuh"
#include "launch.cuh"
#include "leftover.cuh"
#include "panel_tall.cuh"

namespace blocked {

template <bool Cluster>
const void* panel_kernel(int rows_per_thread) {
  switch (rows_per_thread) {
    case 1:
      return reinterpret_cast<const void*>(&factor_panel<k_panel_warps, 1, Cluster>);
    case 2:
      return reinterpret_cast<const void*>(&factor_panel<k_panel_warps, 2, Cluster>);
    case 3:
      return reinterpret_cast<const void*>(&factor_panel<k_panel_warps, 3, Cluster>);
    default:
      return reinterpret_cast<const void*>(&factor_panel<k_panel_warps, 4, Cluster>);
  }
}

inline const void* gram_kernel(int ranks, int warps) {
  if (warps == k_gram_warps) return reinterpret_cast<const void*>(&factor_gram_panel<false, 8>);
  return ranks > 1 ? reinterpret_cast<const void*>(&factor_gram_panel<true, 16>)
                   : reinterpret_cast<const void*>(&factor_gram_panel<false, 16>);
}

/// Blocks that share a Gram panel of m rows: doubled while all of them find a free multiprocessor
/// (looking ahead: leaves three of four to the apply beside it) and each keeps at least two of the
/// blocks of 64 rows that are shared out.
inline int gram_ranks(const Plan& plan, int m) {
  if (!plan.device.clusters) return 1;
  const int free = plan.device.multiprocessors / (looks_ahead(plan) ? 4 : 1);
  int ranks = 1;
  while (ranks < plan.limits.gram_ranks && plan.batch * ranks * 2 <= free &&
         m >= ranks * 4 * k_block) {
    ranks *= 2;
  }
  return ranks;
}

/// Blocks that share a panel of m rows: as few as hold it in registers; once the price of a
/// cluster is paid, twice as many while they find a free multiprocessor.
inline int panel_ranks(const Plan& plan, int m) {
  if (!plan.device.clusters) return 1;
  int ranks = 1;
  while (ranks < k_max_ranks && m > ranks * k_rows_per_rank) ranks *= 2;
  const auto fits = [&](int r) { return plan.batch * r <= plan.device.multiprocessors; };
  if (ranks > 1 && ranks < k_max_ranks && fits(2 * ranks)) ranks *= 2;
  return ranks;
}

inline void add_gram_panel(Plan& plan, int column) {
  const int n = static_cast<int>(plan.n), m = n - column;
  Launch launch{};
  launch.step = Step::gram_panel;
  launch.reads_input = column == 0;
  launch.uses_flags = true;
  launch.ranks = gram_ranks(plan, m);
  const bool alone =
      launch.ranks > 1 || (plan.batch <= plan.device.multiprocessors &&
                           gram_shared_bytes(k_wide_gram_warps) <= plan.device.shared_per_block);
  const int warps = alone ? k_wide_gram_warps : k_gram_warps;
  launch.threads = warps * 32;
  launch.shared_bytes = gram_shared_bytes(warps);
  launch.kernel = gram_kernel(launch.ranks, warps);
  launch.blocks = plan.batch * launch.ranks;
  launch.panel = {nullptr, nullptr, nullptr,      nullptr, nullptr, nullptr,
                  n,       column,  launch.ranks, false,   true};
  plan.launches.push_back(launch);
}

/// `uses_flags`: only the matrices that a Gram panel left over.
inline void add_panel(Plan& plan, int column, bool second, bool uses_flags) {
  const int n = static_cast<int>(plan.n), m = n - column;
  Launch launch{};
  launch.step = Step::panel;
  launch.reads_input = column == 0;
  launch.uses_flags = uses_flags;
  launch.ranks = panel_ranks(plan, m);
  launch.threads = k_panel_warps * 32;
  launch.shared_bytes = static_cast<int>(sizeof(PanelShared));
  if (n <= k_panel) {
    launch.kernel = reinterpret_cast<const void*>(&factor_panel<1, 1, false>);
    launch.threads = 32;
    launch.shared_bytes = static_cast<int>(offsetof(PanelShared, tail));
  } else if (m <= launch.ranks * k_rows_per_rank) {
    const int step = launch.ranks * k_panel_warps * 32;
    const int rows = (m + step - 1) / step;
    launch.kernel = launch.ranks > 1 ? panel_kernel<true>(rows) : panel_kernel<false>(rows);
  } else {
    launch.kernel = launch.ranks > 1 ? reinterpret_cast<const void*>(&factor_tall_panel<true>)
                                     : reinterpret_cast<const void*>(&factor_tall_panel<false>);
  }
  launch.blocks = plan.batch * launch.ranks;
  launch.panel = {nullptr,
                  nullptr,
                  nullptr,
                  nullptr,
                  nullptr,
                  nullptr,
                  n,
                  column,
                  launch.ranks,
                  second,
                  column + k_panel < n};
  plan.launches.push_back(launch);
}

/// The task of an apply, once the launch has its ranks.
inline void set_apply(Launch& launch, int n, int row, int begin, int end, int strips) {
  launch.apply.n = n;
  launch.apply.row = row;
  launch.apply.begin = begin;
  launch.apply.end = end;
  launch.apply.strips = strips;
  launch.apply.ranks = launch.ranks;
}

/// What one apply may take: blocks to a strip, at least `fewest` chunks each, and none of the
/// multiprocessors that a panel beside it has taken.
struct ApplyLimits {
  int ranks, fewest, taken;
};

/// The time of an apply, in passes of a block over one chunk, when `ranks` blocks share the rows of
/// each strip: in every round of the device two passes and what a block does once, which for blocks
/// that share is their exchange too. Beside a panel clusters do not find every place.
inline std::int64_t apply_cost(const Plan& plan, std::int64_t strips, int chunks, int residents,
                               int taken, int ranks) {
  constexpr int alone = 8, shared = 16;
  const int places = plan.device.multiprocessors - taken;
  const std::int64_t slots = std::int64_t{residents} * (places > 1 ? places : 1);
  const std::int64_t usable = ranks > 1 && taken > 0 ? slots - slots / 8 : slots;
  const std::int64_t rounds = (strips * ranks + usable - 1) / usable;
  return rounds * (2 * ((chunks + ranks - 1) / ranks) + (ranks > 1 ? shared : alone));
}

/// Blocks that share the rows of a strip: the fewest that cost least.
inline int apply_ranks(const Plan& plan, std::int64_t strips, int chunks, int residents,
                       const ApplyLimits& most) {
  if (!plan.device.clusters) return 1;
  const auto cost = [&](int ranks) {
    return apply_cost(plan, strips, chunks, residents, most.taken, ranks);
  };
  int best = 1;
  for (int ranks = 2; ranks <= most.ranks && chunks >= most.fewest * ranks; ++ranks) {
    if (cost(ranks) < cost(best)) best = ranks;
  }
  return best;
}

/// Blocks of an apply that a multiprocessor should have room for: as few as hold all of them, and
/// as many again, since clusters do not fill every one.
inline int apply_residents(const Plan& plan, std::int64_t blocks, int most) {
  const std::int64_t wanted = 1 + 2 * blocks / (plan.device.multiprocessors + 1);
  return wanted < most ? static_cast<int>(wanted) : most;
}

template <int K, int CG, int RG, bool Ahead = false>
void add_apply_as(Plan& plan, int row, int begin, int end, const ApplyLimits& most,
                  bool uses_flags) {
  constexpr int columns = CG * k_warp_columns, chunk_rows = RG * k_tile_rows;
  const int n = static_cast<int>(plan.n);
  const int strips = (end - begin + columns - 1) / columns;
  const int chunks = (n - row + chunk_rows - 1) / chunk_rows;
  Launch launch{};
  launch.step = Step::apply;
  launch.reads_input = row == 0;
  launch.uses_flags = uses_flags;
  launch.of_pair = K > k_block;
  constexpr int residents = k_residents<K, RG, Ahead>;
  launch.ranks = apply_ranks(plan, plan.batch * strips, chunks, residents, most);
  launch.threads = CG * RG * 32;
  launch.kernel = n % 4 == 0 ? reinterpret_cast<const void*>(&apply_block<K, CG, RG, true, Ahead>)
                             : reinterpret_cast<const void*>(&apply_block<K, CG, RG, false, Ahead>);
  const int fixed = apply_fixed_bytes<K, CG, RG, Ahead>(RG * launch.ranks > 1);
  launch.blocks = plan.batch * strips * launch.ranks;
  const int share =
      plan.device.shared_per_multiprocessor / apply_residents(plan, launch.blocks, residents) -
      plan.device.shared_reserved_per_block;
  const int budget = share < plan.device.shared_per_block ? share : plan.device.shared_per_block;
  const int per_rank = (chunks + launch.ranks - 1) / launch.ranks;
  const int room = (budget - fixed) / k_chunk_bytes<CG, RG>;
  const int wanted = room < per_rank ? room : per_rank;
  const int least = per_rank < k_stages<RG> ? per_rank : k_stages<RG>;
  const int slots = wanted < least ? least : wanted;
  launch.shared_bytes = fixed + slots * k_chunk_bytes<CG, RG>;
  set_apply(launch, n, row, begin, end, strips);
  launch.apply.slots = slots;
  plan.launches.push_back(launch);
}

/// The exact way for what a Gram panel leaves over: in one launch where registers hold the rows.
inline void add_leftover(Plan& plan, int column) {
  const int n = static_cast<int>(plan.n), m = n - column, middle = column + k_panel;
  const int end = column + k_block, ranks = panel_ranks(plan, m);
  if (m > ranks * k_rows_per_rank) {
    add_panel(plan, column, false, true);
    add_apply_as<k_panel, 1, 4>(plan, column, middle, end, {plan.limits.apply_ranks, 2, 0}, true);
    add_panel(plan, middle, true, true);
    return;
  }
  const bool vector = n % 4 == 0;
  Launch launch{};
  launch.step = Step::leftover;
  launch.reads_input = column == 0;
  launch.uses_flags = true;
  launch.ranks = ranks;
  launch.threads = k_panel_warps * 32;
  launch.blocks = plan.batch * ranks;
  launch.kernel = ranks > 1 ? vector ? reinterpret_cast<const void*>(&factor_leftover<true, true>)
                                     : reinterpret_cast<const void*>(&factor_leftover<true, false>)
                  : vector ? reinterpret_cast<const void*>(&factor_leftover<false, true>)
                            : reinterpret_cast<const void*>(&factor_leftover<false, false>);
  launch.panel = {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                  n,       column,  ranks,   false,   true};
  const int slots = k_stages<4>;
  set_apply(launch, n, column, middle, end, 1);
  launch.apply.slots = slots;
  const int apply_bytes =
      apply_fixed_bytes<k_panel, 1, 4, false>(true) + slots * k_chunk_bytes<1, 4>;
  const int panel_bytes = static_cast<int>(sizeof(PanelShared));
  launch.shared_bytes = panel_bytes > apply_bytes ? panel_bytes : apply_bytes;
  plan.launches.push_back(launch);
}

/// S of the pair whose blocks begin at `column`: its rows shared by as many blocks as find a free
/// multiprocessor and keep two chunks under way.
inline void add_cross(Plan& plan, int column) {
  const int n = static_cast<int>(plan.n), row = column + k_block;
  const int chunks = (n - row + k_cross_rows - 1) / k_cross_rows;
  int ranks = 1;
  while (plan.device.clusters && ranks < k_max_ranks &&
         plan.batch * ranks * 2 <= plan.device.multiprocessors && chunks >= ranks * 4) {
    ranks *= 2;
  }
  Launch launch{};
  launch.step = Step::cross;
  launch.ranks = ranks;
  launch.threads = k_cross_warps * 32;
  launch.blocks = plan.batch * ranks;
  launch.shared_bytes = cross_shared_bytes(ranks);
  launch.kernel = ranks > 1 ? reinterpret_cast<const void*>(&multiply_reflectors<true>)
                            : reinterpret_cast<const void*>(&multiply_reflectors<false>);
  launch.cross.n = n;
  launch.cross.row = row;
  launch.cross.ranks = ranks;
  plan.launches.push_back(launch);
}

/// The block at `column` applied to the `width` columns from `begin` on: those of settled matrices,
/// of others, or, without flags, of all. The rows of a strip are shared by as many blocks as may
/// be, of eight warps where such blocks take half of the device at most: two of them do not fit a
/// multiprocessor, and clusters do not fill every one.
enum class Whose { all, settled, left_over };
inline void add_strip(Plan& plan, int column, int begin, int width, Whose whose) {
  const int most = begin + width, end = most < plan.n ? most : static_cast<int>(plan.n);
  const std::int64_t strips = plan.batch * width / k_warp_columns;
  const bool uses_flags = whose != Whose::all;
  if (2 * strips * k_max_ranks <= plan.device.multiprocessors) {
    add_apply_as<k_block, 1, 8, true>(plan, column, begin, end, {k_max_ranks, 1, 0}, uses_flags);
  } else {
    add_apply_as<k_block, 1, 4, true>(plan, column, begin, end, {k_max_ranks, 2, 0}, uses_flags);
  }
  plan.launches.back().apply.settled = whose == Whose::settled;
}

/// An apply by warpgroups: strips as few as may be, and of about the same width.
template <int K>
void add_wide_as(Plan& plan, int row, int begin, int end, const ApplyLimits& most) {
  constexpr int unit = 32;  // columns, 128 bytes
  const int n = static_cast<int>(plan.n), columns = end - begin;
  const int strips = (columns + WideSizes<K>::k_columns - 1) / WideSizes<K>::k_columns;
  const int chunks = (n - row + k_wide_rows - 1) / k_wide_rows;
  Launch launch{};
  launch.step = Step::apply;
  launch.reads_input = row == 0;
  launch.of_pair = K > k_block;
  launch.ranks = apply_ranks(plan, plan.batch * strips, chunks, 1, most);
  launch.threads = WideSizes<K>::k_threads;
  launch.kernel = reinterpret_cast<const void*>(&apply_wide<K>);
  launch.blocks = plan.batch * strips * launch.ranks;
  launch.shared_bytes = static_cast<int>(sizeof(WideShared<K>));
  set_apply(launch, n, row, begin, end, strips);
  launch.apply.width = ((columns + strips - 1) / strips + unit - 1) / unit * unit;
  plan.launches.push_back(launch);
}

/// The block at `column`, or the pair that begins there, applied to columns [begin, end), beside a
/// panel that has taken some multiprocessors. Blocks of a pair exchange what they have of a strip
/// once for twice as many reflectors, so twice as many of them may share it.
inline void add_wide(Plan& plan, int column, int begin, int end, bool pair, int taken) {
  if (takes_warpgroups(plan)) {
    const ApplyLimits most{k_wide_most_ranks, 2, taken};
    if (pair) return add_wide_as<k_pair>(plan, column, begin, end, most);
    return add_wide_as<k_block>(plan, column, begin, end, most);
  }
  if (pair) {
    const int twice = 2 * plan.limits.apply_ranks,
              ranks = twice < k_max_ranks ? twice : k_max_ranks;
    add_apply_as<k_pair, 4, 1>(plan, column, begin, end, {ranks, 4, taken}, false);
  } else {
    add_apply_as<k_block, 4, 1>(plan, column, begin, end, {plan.limits.apply_ranks, 4, taken},
                                false);
  }
}

/// Two exact panels of a block, the first applied to the second in between.
inline void add_exact(Plan& plan, int column) {
  const int size = static_cast<int>(plan.n), middle = column + k_panel, end = column + k_block;
  add_panel(plan, column, false, false);
  if (middle >= size) return;
  add_apply_as<k_panel, 1, 4>(plan, column, middle, end < size ? end : size,
                              {plan.limits.apply_ranks, 2, 0}, false);
  add_panel(plan, middle, true, false);
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_ADD_LAUNCH_CUH
