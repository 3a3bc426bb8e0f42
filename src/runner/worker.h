// A worker as the session sees it. Two kinds: a process of its own, and a thread for --in-process.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kbench {

class Worker {
 public:
  /// Ends the worker.
  virtual ~Worker() = default;
  /// The runner's end of the channel, non-blocking.
  virtual int socket() const = 0;
  /// Read end of its stdout and stderr, non-blocking; -1 when they are the runner's own.
  virtual int output() const = 0;
  /// Readable once the worker is dead; -1 when its death is the runner's own.
  virtual int status() const = 0;
  /// `killed by SIGSEGV` or `exited with status 0`, once dead of its own.
  virtual std::optional<std::string> death() = 0;
  /// Ends it, with every process that it started. True when nothing of it is left.
  virtual bool end() = 0;
};

/// The processes directly below the runner that belong to its living workers: whoever clears away
/// what one worker left behind must spare those of the others.
using Siblings = std::vector<pid_t>;

/// Starts `worker --socket N` of this executable under a keeper. `siblings` is shared by all
/// workers of the runner and outlives them. Throws Error(usage).
std::unique_ptr<Worker> start_worker_process(Siblings& siblings);

/// Starts the same as a plain child, without a keeper and with foreign descriptors left open: the
/// shape that an injected profiler can follow (ncu loses track of a process that forks without
/// exec). What the worker leaves behind is ended here, and nothing outlives a killed runner but
/// processes that the worker itself started. Throws Error(usage).
std::unique_ptr<Worker> start_worker_child(Siblings& siblings);

/// Runs `serve` in a thread. end() gives up on a thread that does not return: the process can then
/// only leave by _exit.
std::unique_ptr<Worker> start_worker_thread(int (*serve)(int socket));

}  // namespace kbench
