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
                   k_of_exact = bit_of(k_exact), k_of_near = bit_of(k_near);

/// Looking ahead: the wide apply of the pair that begins at `column` to the columns from `begin`
/// on, the two blocks there beside the rest. It has the time of two panels, so it leaves places to
/// them and to their strips, and takes for those two blocks no more than it must.
inline void add_wide_of_pair(Plan& plan, Schedule& schedule, int column, int begin, int taken) {
  constexpr int for_near = 16, for_strips = 12;  // multiprocessors
  const int size = static_cast<int>(plan.n), rest = begin + k_pair;
  const auto share = static_cast<int>(for_near / plan.batch);
  const int ranks = share < 1 ? 1 : share < k_wide_most_ranks ? share : k_wide_most_ranks;
  add_cross(plan, column);
  schedule.placed(k_near, k_of_updates | k_of_exact, column);
  if (rest < size) {
    const auto near = static_cast<int>(plan.batch * ranks);
    add_wide_as<k_pair>(plan, column, rest, size,
                        {k_wide_most_ranks, 2, taken + near + for_strips});
    schedule.placed(k_updates, k_of_near | k_of_strip | k_of_exact, column);
  }
  add_wide_as<k_pair>(plan, column, begin, rest < size ? rest : size, {ranks, 2, taken});
  schedule.placed(k_near, k_of_strip, column);
}

/// Looking ahead: what follows the Gram panel of each block. The next block's columns are updated
/// first, by the strip, and while the wide apply follows, that block's panel is factored into
/// another copy. The columns of the block after it are a second strip beside both: so the next
/// strip need not wait for the wide apply either. The exact way of the matrices that are left over,
/// and their next block's columns, run beside the strip of the settled ones, so that a call without
/// any does not wait for launches that find nothing to do.
///
/// In pairs, the wide apply of a pair runs beside the panels of the next one, whose columns are the
/// second strips' alone. The second strip of that next pair's first block needs what it has done in
/// the columns of two blocks more, so those have a launch of their own; the panel after that pair
/// waits for all of it. One by one, the next panel waits for the wide apply, and starts together
/// with the next one and takes its multiprocessors first. Returns the column of the last block,
/// which is left to do.
inline int add_ahead(Plan& plan, Schedule& schedule) {
  const int size = static_cast<int>(plan.n);
  const bool in_pairs = takes_pairs(plan);
  add_gram_panel(plan, 0);
  schedule.placed(k_updates, 0, 0);
  for (int column = 0;; column += k_block) {
    const int next = column + k_block, second = next + k_block;
    const bool of_second = in_pairs && column / k_block % 2 == 1, of_first = in_pairs && !of_second;
    const int ahead = of_first ? k_pair : k_block;  // columns of the second strip
    const unsigned panel = column == 0 ? k_of_updates : k_of_ahead;
    const unsigned wide = in_pairs ? k_of_near : k_of_updates;  // what the second strip waits for
    add_leftover(plan, column);
    if (second >= size) {
      add_wide(plan, column, next, size, false, 0);
      schedule.placed(k_updates, panel | wide | k_of_exact | k_of_strip | k_of_second_strip,
                      column);
      return next;
    }
    add_strip(plan, column, next, k_block, Whose::left_over);
    schedule.placed(k_exact, panel | k_of_strip | k_of_second_strip, column);
    add_strip(plan, column, next, k_block, Whose::settled);
    schedule.placed(k_strip, panel | k_of_second_strip, column);
    add_gram_panel(plan, next);
    schedule.placed(k_ahead, (of_first ? 0 : k_of_updates) | k_of_strip | k_of_exact, next);
    add_strip(plan, column, second, ahead, Whose::all);
    schedule.placed(k_second_strip, wide | k_of_strip | k_of_exact, column);
    const int rest = second + ahead;
    if (rest >= size || of_first) continue;
    const auto taken = static_cast<int>(plan.batch * gram_ranks(plan, size - next));
    if (of_second) {
      add_wide_of_pair(plan, schedule, column - k_block, rest, taken);
    } else {
      add_wide(plan, column, rest, size, false, taken);
      schedule.placed(k_updates, k_of_strip | k_of_exact, column);
    }
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
      add_strip(plan, column, end, k_block, Whose::all);
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
