// The launches of one call for one shape: their order, and what may run beside what.
#ifndef KBENCH_QR_BLOCKED_PLAN_CUH
#define KBENCH_QR_BLOCKED_PLAN_CUH

#include <cstddef>
#include <cstdint>

#include "add_launch.cuh"

namespace blocked {

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
