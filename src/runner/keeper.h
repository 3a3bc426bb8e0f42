// The keeper: a small process between the runner and one worker. Whatever ends the runner, the
// keeper ends the worker and everything that the worker started.
#pragma once

#include <sys/types.h>

#include <string>

namespace kbench {

/// Descriptors that the keeper takes over from the fork.
struct KeeperEnds {
  int life = -1;  ///< read end of a pipe whose write end only the runner holds
  /// Write end: one int, the worker's wait status (also when it is stopped, which ends it), or
  /// minus the errno of a fork that failed; closed when all is gone.
  int status = -1;
  int socket = -1;  ///< the worker's channel
  int output = -1;  ///< write end for the worker's stdout and stderr
};

/// Body of the forked child that becomes the worker: `<executable> worker --socket N` with its
/// output on `ends.output`. It dies with `parent`. All other descriptors are closed, and the right
/// to trace foreign processes is given up; or, for `keep_others`, both are left as they are: a tool
/// injected into this process may need them to follow the worker.
[[noreturn]] void become_worker(const KeeperEnds& ends, pid_t parent, const std::string& executable,
                                bool keep_others);

/// Body of the keeper after the fork: starts `<executable> worker --socket 3`, waits for its death
/// or the runner's, ends every descendant and exits. Uses no descriptor of the runner but `ends`.
[[noreturn]] void keep(const KeeperEnds& ends, const std::string& executable);

}  // namespace kbench
