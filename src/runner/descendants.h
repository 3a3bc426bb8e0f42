// Finding and ending the processes below this one.
#pragma once

#include <sys/types.h>

#include <vector>

namespace kbench {

/// Direct children of a process of this user, zombies included.
std::vector<pid_t> children_of(pid_t process);

/// Kills and reaps everything below this process, forks made meanwhile included, except the
/// children in `spared` and what is below them. The caller must be a child subreaper, so that
/// orphans come back to it. False when something is left after `timeout_ms` (a process stuck in the
/// kernel).
bool end_descendants(const std::vector<pid_t>& spared, int timeout_ms);

}  // namespace kbench
