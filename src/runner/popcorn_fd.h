// POPCORN_FD and POPCORN_SEED: taken out of the environment before any process can inherit them.
#pragma once

#include <optional>
#include <string>

#include "runner/fd.h"

namespace kbench {

struct Popcorn {
  std::optional<Fd> fd;  ///< absent: no result lines are wanted
  std::string seed;      ///< POPCORN_SEED, empty when absent
};

/// Takes both variables and unsets them. The descriptor is moved away from 0-2, so that neither
/// stdout nor stderr of this process can put bytes between the result lines: where it was stdout,
/// stdout becomes stderr and the other way round. Close-on-exec is set before anything else.
/// Throws Error(popcorn_fd) when the descriptor is empty, no number, not open or not writable.
Popcorn take_popcorn();

}  // namespace kbench
