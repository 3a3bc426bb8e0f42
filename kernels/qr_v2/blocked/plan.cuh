// The launches of one call, in order, for one shape; and how they are enqueued.
//
// Decides by shape alone: how many blocks share a panel or a strip, and how much of C stays in
// shared memory. Knows nothing of the ABI and never looks at data.
#ifndef KBENCH_QR_BLOCKED_PLAN_CUH
#define KBENCH_QR_BLOCKED_PLAN_CUH

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cross.cuh"
#include "gram_panel.cuh"
#include "leftover.cuh"
#include "panel_tall.cuh"

namespace blocked {

/// What the plan must know of the device.
struct DeviceFacts {
  int multiprocessors;
  int shared_per_multiprocessor;  // bytes
  int shared_reserved_per_block;  // bytes
  int shared_per_block;           // bytes, the most a kernel may ask for
  bool clusters;
  bool fast_double;  // FP64 at no less than a quarter of the rate of FP32
};

/// More blocks to a strip exchange more than they save: 4 of them measured faster than 8.
constexpr int k_max_apply_ranks = 4;

/// From this n on looking ahead measured faster; smaller n with so few matrices were not measured.
constexpr int k_look_ahead_from = 2048;

/// From this n on two blocks of reflectors to one wide apply measured faster.
constexpr int k_pairs_from = 512;

/// What a trial may change, by environment variables of the plug-in.
struct Limits {
  int gram_ranks = k_max_ranks;             // KBENCH_QR_GRAM_RANKS; 0: no Gram panels
  int apply_ranks = k_max_apply_ranks;      // KBENCH_QR_APPLY_RANKS
  int look_ahead_from = k_look_ahead_from;  // n; by KBENCH_QR_LOOK_AHEAD any or none
  int pairs_from = k_pairs_from;            // n; by KBENCH_QR_PAIRS any or none
};

/// The device addresses of one call.
struct Buffers {
  const float* a;
  float* h;
  float* tau;
  void* workspace;
};

enum class Step { gram_panel, panel, apply, leftover, cross };

/// What may run beside each other: the wide applies; ahead of them the next panel; the strip that
/// it waits for; that of the panel after it; and what Gram panels leave over.
constexpr int k_updates = 0, k_ahead = 1, k_strip = 2, k_second_strip = 3, k_exact = 4,
              k_branches = 5;
constexpr unsigned bit_of(int branch) { return 1u << branch; }

/// One launch; its step says which task is used (a leftover step: both). The addresses are filled
/// in per call.
struct Launch {
  const void* kernel;
  Step step;
  bool reads_input;  // source is the input, not the factor
  bool uses_flags;   // works on, or marks, the matrices that a Gram panel leaves over
  int branch;        // launches of a branch run in turn, of different ones beside each other,
  unsigned waits;    // but not before all launches so far of these branches, a bit each
  int copy;          // of the reflectors, factors and flags: blocks take them in turn
  int second_copy;   // of a pair: that of its second block
  bool of_pair;      // an apply by the reflectors of both
  PanelTask panel;
  ApplyTask apply;
  CrossTask cross;
  std::int64_t blocks;
  int threads;
  int ranks;
  int shared_bytes;
};

struct Plan {
  std::int64_t batch, n;
  DeviceFacts device;
  Limits limits;
  std::vector<Launch> launches;
};

constexpr int k_rows_per_rank = k_panel_warps * 32 * 4;

constexpr std::uint64_t round_up_256(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

inline std::uint64_t reflector_bytes(const Plan& plan) {
  return round_up_256(static_cast<std::uint64_t>(plan.batch * reflector_elements(plan.n)) *
                      sizeof(std::uint16_t));
}

inline std::uint64_t factor_bytes(const Plan& plan) {
  return round_up_256(static_cast<std::uint64_t>(plan.batch * k_factor_elements) * sizeof(float));
}

/// Reflectors, factors, flags, in this order.
inline std::uint64_t copy_bytes(const Plan& plan) {
  return reflector_bytes(plan) + factor_bytes(plan) +
         round_up_256(static_cast<std::uint64_t>(plan.batch) * sizeof(int));
}

/// Few matrices, of more than two blocks: then a panel leaves most of the device to an apply.
inline bool looks_ahead(const Plan& plan) {
  return plan.n >= plan.limits.look_ahead_from && plan.limits.gram_ranks > 0 &&
         plan.device.clusters && plan.device.fast_double &&
         plan.batch * k_max_ranks <= plan.device.multiprocessors && plan.n > 2 * k_block;
}

/// Whether there are columns for a wide apply of pairs, and room for two blocks of it on a
/// multiprocessor. Looking ahead, there are too few blocks for it to be faster.
inline bool takes_pairs(const Plan& plan) {
  constexpr int least =
      apply_fixed_bytes<k_pair, 4, 1, false>(true) + k_stages<1> * k_chunk_bytes<4, 1>;
  const int room = plan.device.shared_per_multiprocessor / k_residents<k_pair, 1, false> -
                   plan.device.shared_reserved_per_block;
  return plan.n >= plan.limits.pairs_from && plan.limits.gram_ranks > 0 &&
         plan.device.fast_double && plan.n > 2 * k_block && room >= least && !looks_ahead(plan);
}

/// Reflectors, factors and flags are kept of so many blocks: of a pair, or of one block while the
/// next one is factored.
inline int copies(const Plan& plan) { return takes_pairs(plan) || looks_ahead(plan) ? 2 : 1; }
inline int copy_of(const Plan& plan, int column) { return column / k_block % copies(plan); }

/// The copies, then S of a pair. A matrix of one panel needs no workspace.
inline std::uint64_t workspace_bytes(const Plan& plan) {
  if (plan.n <= k_panel) return 0;
  return copy_bytes(plan) * static_cast<std::uint64_t>(copies(plan)) +
         (takes_pairs(plan) ? factor_bytes(plan) : 0);
}

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
  const std::int64_t slots = std::int64_t{residents} * (plan.device.multiprocessors - taken);
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
  launch.apply.n = n;
  launch.apply.row = row;
  launch.apply.begin = begin;
  launch.apply.end = end;
  launch.apply.strips = strips;
  launch.apply.ranks = launch.ranks;
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
  launch.apply.n = n;
  launch.apply.row = column;
  launch.apply.begin = middle;
  launch.apply.end = end;
  launch.apply.strips = 1;
  launch.apply.ranks = ranks;
  launch.apply.slots = slots;
  const int apply_bytes =
      apply_fixed_bytes<k_panel, 1, 4, false>(true) + slots * k_chunk_bytes<1, 4>;
  const int panel_bytes = static_cast<int>(sizeof(PanelShared));
  launch.shared_bytes = panel_bytes > apply_bytes ? panel_bytes : apply_bytes;
  plan.launches.push_back(launch);
}

/// One block's part of the workspace.
struct BlockSpace {
  std::uint16_t* reflectors;
  float* block;
  int* doubtful;
};
inline BlockSpace block_space(const Plan& plan, void* workspace, int copy) {
  if (workspace == nullptr) return {nullptr, nullptr, nullptr};
  auto* space =
      static_cast<unsigned char*>(workspace) + copy_bytes(plan) * static_cast<std::uint64_t>(copy);
  return {reinterpret_cast<std::uint16_t*>(space),
          reinterpret_cast<float*>(space + reflector_bytes(plan)),
          reinterpret_cast<int*>(space + reflector_bytes(plan) + factor_bytes(plan))};
}

/// The addresses of one call into one launch.
inline void fill_addresses(const Plan& plan, Launch& launch, const Buffers& buffers) {
  const BlockSpace own = block_space(plan, buffers.workspace, launch.copy);
  const BlockSpace second = block_space(plan, buffers.workspace, launch.second_copy);
  const BlockSpace behind = block_space(plan, buffers.workspace, copies(plan));
  launch.panel.source = launch.apply.source = launch.reads_input ? buffers.a : buffers.h;
  launch.panel.factor = launch.apply.factor = buffers.h;
  launch.panel.tau = buffers.tau;
  launch.panel.reflectors = own.reflectors;
  launch.panel.block = own.block;
  launch.panel.doubtful = launch.uses_flags ? own.doubtful : nullptr;
  launch.apply.reflectors = launch.cross.first = own.reflectors;
  launch.apply.block = own.block;
  launch.apply.doubtful = launch.panel.doubtful;
  launch.apply.second_reflectors = launch.cross.second = second.reflectors;
  launch.apply.second_block = second.block;
  launch.cross.cross = reinterpret_cast<float*>(behind.reflectors);
  launch.apply.cross = launch.cross.cross;
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

/// The block at `column` applied to the 64 columns from `begin` on: those of settled matrices, of
/// others, or, without flags, of all. The rows of a strip are shared by as many blocks as may be,
/// of eight warps where such blocks take half of the device at most: two of them do not fit a
/// multiprocessor, and clusters do not fill every one.
enum class Whose { all, settled, left_over };
inline void add_strip(Plan& plan, int column, int begin, Whose whose) {
  const int most = begin + k_block, end = most < plan.n ? most : static_cast<int>(plan.n);
  const std::int64_t strips = plan.batch * k_block / k_warp_columns;
  const bool uses_flags = whose != Whose::all;
  if (2 * strips * k_max_ranks <= plan.device.multiprocessors) {
    add_apply_as<k_block, 1, 8, true>(plan, column, begin, end, {k_max_ranks, 1, 0}, uses_flags);
  } else {
    add_apply_as<k_block, 1, 4, true>(plan, column, begin, end, {k_max_ranks, 2, 0}, uses_flags);
  }
  plan.launches.back().apply.settled = whose == Whose::settled;
}

/// The block at `column`, or the pair that begins there, applied to columns [begin, end), beside a
/// panel that has taken some multiprocessors. Blocks of a pair exchange what they have of a strip
/// once for twice as many reflectors, so twice as many of them may share it.
inline void add_wide(Plan& plan, int column, int begin, int end, bool pair, int taken) {
  if (pair) {
    add_apply_as<k_pair, 4, 1>(plan, column, begin, end, {2 * plan.limits.apply_ranks, 4, taken},
                               false);
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

/// Makes a plan of launches on several branches: what was added since the last call of placed()
/// goes to a branch, and its first launch waits for what others have so far.
class Schedule {
 public:
  explicit Schedule(Plan& plan) : plan_(plan) {}
  /// `column`: of the block whose copy is used; of a pair its first.
  void placed(int branch, unsigned waits, int column) {
    for (std::size_t k = first_; k < plan_.launches.size(); ++k) {
      Launch& launch = plan_.launches[k];
      launch.branch = branch, launch.waits = k == first_ ? waits : 0;
      launch.copy = copy_of(plan_, column);
      launch.second_copy = copy_of(plan_, column + k_block);
    }
    first_ = plan_.launches.size();
  }

 private:
  Plan& plan_;
  std::size_t first_ = 0;
};

constexpr unsigned k_of_updates = bit_of(k_updates), k_of_ahead = bit_of(k_ahead),
                   k_of_strip = bit_of(k_strip), k_of_second_strip = bit_of(k_second_strip),
                   k_of_exact = bit_of(k_exact);

/// Looking ahead: what follows the Gram panel of each block. The next block's columns are updated
/// first, by the strip, and while the wide apply follows, that block's panel is factored into the
/// other copy. The columns of the block after it are a second strip beside both: so the next strip
/// need not wait for the wide apply either, only the next panel does, which takes its
/// multiprocessors before the next wide apply fills them. The exact way of the matrices that are
/// left over, and their next block's columns, run beside the strip of the settled ones, so that a
/// call without any does not wait for launches that find nothing to do. Returns the column of the
/// last block, which is left to do.
inline int add_ahead(Plan& plan, Schedule& schedule) {
  const int size = static_cast<int>(plan.n);
  add_gram_panel(plan, 0);
  schedule.placed(k_updates, 0, 0);
  for (int column = 0;; column += k_block) {
    const int next = column + k_block, second = next + k_block, rest = second + k_block;
    const unsigned panel = column == 0 ? k_of_updates : k_of_ahead;
    add_leftover(plan, column);
    if (second >= size) {
      add_wide(plan, column, next, size, false, 0);
      schedule.placed(k_updates, panel | k_of_exact | k_of_strip | k_of_second_strip, column);
      return next;
    }
    add_strip(plan, column, next, Whose::left_over);
    schedule.placed(k_exact, panel | k_of_strip | k_of_second_strip, column);
    add_strip(plan, column, next, Whose::settled);
    schedule.placed(k_strip, panel | k_of_second_strip, column);
    add_gram_panel(plan, next);
    schedule.placed(k_ahead, k_of_updates | k_of_strip | k_of_exact, next);
    add_strip(plan, column, second, Whose::all);
    schedule.placed(k_second_strip, k_of_updates | k_of_strip | k_of_exact, column);
    if (rest >= size) continue;
    const auto taken = static_cast<int>(plan.batch * gram_ranks(plan, size - next));
    add_wide(plan, column, rest, size, false, taken);
    schedule.placed(k_updates, k_of_strip | k_of_exact, column);
  }
}

/// Block by block, in turn: its panel, then its columns' or, of every second block, its pair's wide
/// apply. Returns the column of the last block.
inline int add_in_turn(Plan& plan, Schedule& schedule) {
  const int size = static_cast<int>(plan.n);
  const bool in_pairs = takes_pairs(plan);
  for (int column = 0;; column += k_block) {
    const int end = column + k_block;
    if (end >= size) return column;
    add_gram_panel(plan, column);
    add_leftover(plan, column);
    const bool second = in_pairs && column / k_block % 2 == 1;
    if (second) {
      schedule.placed(k_updates, 0, column);
      add_cross(plan, column - k_block);
      add_wide(plan, column - k_block, end, size, true, 0);
      schedule.placed(k_updates, 0, column - k_block);
    } else if (in_pairs && plan.batch <= plan.device.multiprocessors) {
      add_strip(plan, column, end, Whose::all);
    } else {
      add_wide(plan, column, end, in_pairs && end + k_block < size ? end + k_block : size, false,
               0);
    }
    schedule.placed(k_updates, 0, column);
  }
}

/// Right-looking. Each block of 64 columns is factored by its Gram matrix; the matrices for which
/// that does not do, and every last block, as two panels of which the first is applied to the
/// second at once. Then the block is applied to all columns that follow, alone or as one of a pair.
inline Plan make_plan(std::int64_t batch, std::int64_t n, const DeviceFacts& device,
                      const Limits& limits) {
  Plan plan{batch, n, device, limits, {}};
  Schedule schedule(plan);
  const int size = static_cast<int>(n);
  if (device.fast_double && limits.gram_ranks > 0) {
    const int last = looks_ahead(plan) ? add_ahead(plan, schedule) : add_in_turn(plan, schedule);
    add_exact(plan, last);
    schedule.placed(k_updates, 0, last);
    return plan;
  }
  for (int column = 0; column < size; column += k_block) {
    add_exact(plan, column);
    if (column + k_block < size) add_wide(plan, column, column + k_block, size, false, 0);
    schedule.placed(k_updates, 0, column);
  }
  return plan;
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_PLAN_CUH
