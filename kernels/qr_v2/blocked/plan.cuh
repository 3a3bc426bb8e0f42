// The launches of one call, in order, for one shape; and how they are enqueued.
//
// Decides by shape alone: how many blocks share a panel or a strip, and how much of C stays in
// shared memory. Knows nothing of the ABI and never looks at data.
#ifndef KBENCH_QR_BLOCKED_PLAN_CUH
#define KBENCH_QR_BLOCKED_PLAN_CUH

#include <cstddef>
#include <cstdint>
#include <vector>

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

/// What a trial may change, by environment variables of the plug-in.
struct Limits {
  int gram_ranks = k_max_ranks;             // KBENCH_QR_GRAM_RANKS; 0: no Gram panels
  int apply_ranks = k_max_apply_ranks;      // KBENCH_QR_APPLY_RANKS
  int look_ahead_from = k_look_ahead_from;  // n; by KBENCH_QR_LOOK_AHEAD any or none
};

/// The device addresses of one call.
struct Buffers {
  const float* a;
  float* h;
  float* tau;
  void* workspace;
};

enum class Step { gram_panel, panel, apply, leftover };

/// What may run beside each other: the updates of the columns on the right; ahead of them the next
/// panel; and what Gram panels leave over.
constexpr int k_updates = 0, k_ahead = 1, k_exact = 2, k_branches = 3;
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
  int copy;          // of the reflectors, factors and flags: panels ahead write the other one
  PanelTask panel;
  ApplyTask apply;
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

constexpr int k_blocks_per_multiprocessor = 3;  // what apply_block's launch bounds ask for
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

/// A matrix of one panel needs no workspace.
inline std::uint64_t workspace_bytes(const Plan& plan) {
  if (plan.n <= k_panel) return 0;
  return copy_bytes(plan) * (looks_ahead(plan) ? 2 : 1);
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

/// Blocks that share the rows of a strip: as many as let all strips be on the device at once while
/// the limits allow.
inline int apply_ranks(const Plan& plan, std::int64_t strips, int chunks, const ApplyLimits& most) {
  if (!plan.device.clusters) return 1;
  const std::int64_t slots =
      std::int64_t{k_blocks_per_multiprocessor} * (plan.device.multiprocessors - most.taken);
  int ranks = 1;
  while (ranks < most.ranks && strips * (ranks + 1) <= slots &&
         chunks >= most.fewest * (ranks + 1)) {
    ++ranks;
  }
  return ranks;
}

/// Blocks of an apply that a multiprocessor should have room for: as few as hold all of them, and
/// as many again, since clusters do not fill every one.
inline int apply_residents(const Plan& plan, std::int64_t blocks) {
  const std::int64_t wanted = 1 + 2 * blocks / (plan.device.multiprocessors + 1);
  return wanted < k_blocks_per_multiprocessor ? static_cast<int>(wanted)
                                              : k_blocks_per_multiprocessor;
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
  launch.ranks = apply_ranks(plan, plan.batch * strips, chunks, most);
  launch.threads = CG * RG * 32;
  launch.kernel = n % 4 == 0 ? reinterpret_cast<const void*>(&apply_block<K, CG, RG, true, Ahead>)
                             : reinterpret_cast<const void*>(&apply_block<K, CG, RG, false, Ahead>);
  const int fixed = apply_fixed_bytes<K, CG, RG, Ahead>(RG * launch.ranks > 1);
  launch.blocks = plan.batch * strips * launch.ranks;
  const int share = plan.device.shared_per_multiprocessor / apply_residents(plan, launch.blocks) -
                    plan.device.shared_reserved_per_block;
  const int budget = share < plan.device.shared_per_block ? share : plan.device.shared_per_block;
  const int per_rank = (chunks + launch.ranks - 1) / launch.ranks;
  const int room = (budget - fixed) / k_chunk_bytes<CG, RG>;
  const int wanted = room < per_rank ? room : per_rank;
  const int least = per_rank < k_stages<RG> ? per_rank : k_stages<RG>;
  const int slots = wanted < least ? least : wanted;
  launch.shared_bytes = fixed + slots * k_chunk_bytes<CG, RG>;
  launch.apply = {nullptr, nullptr, nullptr, nullptr,      nullptr, n,    row,
                  begin,   end,     strips,  launch.ranks, slots,   false};
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
  launch.apply = {nullptr, nullptr, nullptr, nullptr, nullptr, n,    column,
                  middle,  end,     1,       ranks,   slots,   false};
  const int apply_bytes =
      apply_fixed_bytes<k_panel, 1, 4, false>(true) + slots * k_chunk_bytes<1, 4>;
  const int panel_bytes = static_cast<int>(sizeof(PanelShared));
  launch.shared_bytes = panel_bytes > apply_bytes ? panel_bytes : apply_bytes;
  plan.launches.push_back(launch);
}

/// The addresses of one call into one launch.
inline void fill_addresses(const Plan& plan, Launch& launch, const Buffers& buffers) {
  auto* space = static_cast<unsigned char*>(buffers.workspace);
  if (space != nullptr && launch.copy != 0) space += copy_bytes(plan);
  const auto part = [&](std::uint64_t offset) {
    return space == nullptr ? nullptr : space + offset;
  };
  launch.panel.source = launch.apply.source = launch.reads_input ? buffers.a : buffers.h;
  launch.panel.factor = launch.apply.factor = buffers.h;
  launch.panel.tau = buffers.tau;
  launch.panel.reflectors = reinterpret_cast<std::uint16_t*>(part(0));
  launch.panel.block = reinterpret_cast<float*>(part(reflector_bytes(plan)));
  launch.panel.doubtful =
      launch.uses_flags ? reinterpret_cast<int*>(part(reflector_bytes(plan) + factor_bytes(plan)))
                        : nullptr;
  launch.apply.reflectors = launch.panel.reflectors;
  launch.apply.block = launch.panel.block;
  launch.apply.doubtful = launch.panel.doubtful;
}

/// The block at `column` applied to the next one's columns. The rows of a strip are shared by as
/// many blocks as may be, of eight warps where such blocks take half of the device at most: two of
/// them do not fit a multiprocessor, and clusters do not fill every one.
inline void add_strip_ahead(Plan& plan, int column, bool settled) {
  const int begin = column + k_block, end = begin + k_block;
  const std::int64_t strips = plan.batch * k_block / k_warp_columns;
  if (2 * strips * k_max_ranks <= plan.device.multiprocessors) {
    add_apply_as<k_block, 1, 8, true>(plan, column, begin, end, {k_max_ranks, 1, 0}, true);
  } else {
    add_apply_as<k_block, 1, 4, true>(plan, column, begin, end, {k_max_ranks, 2, 0}, true);
  }
  plan.launches.back().apply.settled = settled;
}

/// The launches from `first` on: their branch, what the first of them waits for, their copy.
inline void place(Plan& plan, std::size_t first, int branch, unsigned waits, int copy) {
  for (std::size_t k = first; k < plan.launches.size(); ++k) {
    Launch& launch = plan.launches[k];
    launch.branch = branch, launch.copy = copy, launch.waits = k == first ? waits : 0;
  }
}

/// Looking ahead, what follows the Gram panel at `column`. The next block's columns are updated
/// first, and while the others follow, that block's panel is factored into the other copy. The
/// exact way of the matrices that are left over, and their next block's columns, run beside those
/// of the settled ones, so that a call without any does not wait for launches that find nothing to
/// do.
inline void add_ahead(Plan& plan, int column) {
  const int size = static_cast<int>(plan.n), end = column + k_block, next = end + k_block;
  const int copy = column / k_block % 2;
  std::size_t first = plan.launches.size();
  const auto placed = [&](int branch, unsigned waits, int of_copy) {
    place(plan, first, branch, waits, of_copy);
    first = plan.launches.size();
  };
  add_leftover(plan, column);
  if (next >= size) {
    add_apply_as<k_block, 4, 1>(plan, column, end, size, {plan.limits.apply_ranks, 4, 0}, false);
    return placed(k_updates, bit_of(k_ahead) | bit_of(k_exact), copy);
  }
  add_strip_ahead(plan, column, false);
  placed(k_exact, bit_of(k_updates) | bit_of(k_ahead), copy);
  add_strip_ahead(plan, column, true);
  placed(k_updates, bit_of(k_ahead), copy);
  add_gram_panel(plan, end);
  placed(k_ahead, bit_of(k_updates) | bit_of(k_exact), 1 - copy);
  const auto taken = static_cast<int>(plan.batch * gram_ranks(plan, size - end));
  add_apply_as<k_block, 4, 1>(plan, column, next, size, {plan.limits.apply_ranks, 4, taken}, false);
  placed(k_updates, bit_of(k_exact), copy);
}

/// Right-looking. Each block of 64 columns is factored by its Gram matrix; the matrices for which
/// that does not do, and every last block, as two panels of which the first is applied to the
/// second at once. Then the block is applied to all columns that follow.
inline Plan make_plan(std::int64_t batch, std::int64_t n, const DeviceFacts& device,
                      const Limits& limits) {
  Plan plan{batch, n, device, limits, {}};
  const int size = static_cast<int>(n);
  for (int column = 0; column < size; column += k_block) {
    const int middle = column + k_panel, end = column + k_block;
    if (device.fast_double && limits.gram_ranks > 0 && end < size) {
      if (looks_ahead(plan)) {
        if (column == 0) add_gram_panel(plan, column);
        add_ahead(plan, column);
        continue;
      }
      add_gram_panel(plan, column);
      add_leftover(plan, column);
    } else {
      add_panel(plan, column, false, false);
      if (middle >= size) break;
      add_apply_as<k_panel, 1, 4>(plan, column, middle, end < size ? end : size,
                                  {plan.limits.apply_ranks, 2, 0}, false);
      add_panel(plan, middle, true, false);
    }
    if (end < size) {
      add_apply_as<k_block, 4, 1>(plan, column, end, size, {plan.limits.apply_ranks, 4, 0}, false);
    }
  }
  return plan;
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_PLAN_CUH
