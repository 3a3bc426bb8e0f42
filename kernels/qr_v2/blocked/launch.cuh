// What a plan and its launches are, and where in the workspace their operands lie.
//
// Everything follows from the shape and the device. Knows nothing of the ABI and never looks at
// data.
#ifndef KBENCH_QR_BLOCKED_LAUNCH_CUH
#define KBENCH_QR_BLOCKED_LAUNCH_CUH

#include <cstddef>
#include <cstdint>
#include <vector>

#include "apply.cuh"
#include "cross.cuh"
#include "wide_apply.cuh"

namespace blocked {

/// What the plan must know of the device.
struct DeviceFacts {
  int multiprocessors;
  int shared_per_multiprocessor;  // bytes
  int shared_reserved_per_block;  // bytes
  int shared_per_block;           // bytes, the most a kernel may ask for
  bool clusters;
  bool fast_double;  // FP64 at no less than a quarter of the rate of FP32
  bool warpgroups;   // the kernels of wide_apply.cuh are there
};

/// More blocks to a strip exchange more than they save: 4 of them measured faster than 8.
constexpr int k_max_apply_ranks = 4;

/// From this n on looking ahead measured faster; smaller n with so few matrices were not measured.
constexpr int k_look_ahead_from = 2048;

/// From this n on two blocks of reflectors to one wide apply measured faster.
constexpr int k_pairs_from = 512;

/// From this n on the wide applies are those of warpgroups, where n is a multiple of 8; smaller n
/// were not measured.
constexpr int k_warpgroups_from = 176;

/// What a trial may change, by environment variables of the plug-in.
struct Limits {
  int gram_ranks = k_max_ranks;             // KBENCH_QR_GRAM_RANKS; 0: no Gram panels
  int apply_ranks = k_max_apply_ranks;      // KBENCH_QR_APPLY_RANKS; not of warpgroups
  int look_ahead_from = k_look_ahead_from;  // n; by KBENCH_QR_LOOK_AHEAD any or none
  int pairs_from = k_pairs_from;            // n; by KBENCH_QR_PAIRS any or none
  int warpgroups_from = k_warpgroups_from;  // n; by KBENCH_QR_WARPGROUPS any or none
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
/// it waits for; that of the panel after it; what Gram panels leave over; and the columns of a wide
/// apply of a pair that are needed first.
constexpr int k_updates = 0, k_ahead = 1, k_strip = 2, k_second_strip = 3, k_exact = 4, k_near = 5,
              k_branches = 6;
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

inline bool takes_warpgroups(const Plan& plan) {
  return plan.device.warpgroups && plan.n >= plan.limits.warpgroups_from && plan.n % 8 == 0;
}

/// Whether there are columns for a wide apply of pairs, and room for two blocks of it on a
/// multiprocessor. Looking ahead, there are too few blocks for it to be faster without warpgroups.
inline bool takes_pairs(const Plan& plan) {
  constexpr int least =
      apply_fixed_bytes<k_pair, 4, 1, false>(true) + k_stages<1> * k_chunk_bytes<4, 1>;
  const int room = plan.device.shared_per_multiprocessor / k_residents<k_pair, 1, false> -
                   plan.device.shared_reserved_per_block;
  return plan.n >= plan.limits.pairs_from && plan.limits.gram_ranks > 0 &&
         plan.device.fast_double && plan.n > 2 * k_block && room >= least &&
         (!looks_ahead(plan) || takes_warpgroups(plan));
}

/// Reflectors, factors and flags are kept of so many blocks: of a pair, or of a block or pair while
/// the next one is factored.
inline int copies(const Plan& plan) {
  return (takes_pairs(plan) ? 2 : 1) * (looks_ahead(plan) ? 2 : 1);
}
inline int copy_of(const Plan& plan, int column) { return column / k_block % copies(plan); }

/// The copies, then S of a pair. A matrix of one panel needs no workspace.
inline std::uint64_t workspace_bytes(const Plan& plan) {
  if (plan.n <= k_panel) return 0;
  return copy_bytes(plan) * static_cast<std::uint64_t>(copies(plan)) +
         (takes_pairs(plan) ? factor_bytes(plan) : 0);
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

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_LAUNCH_CUH
