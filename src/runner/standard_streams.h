// stdout and stderr of the runner, so that a reader who does not read cannot hold up the run.
#pragma once

#include <cstdio>

#include "runner/outlet.h"
#include "runner/watch.h"

namespace kbench {

/// While it lives, all that this process writes to the C streams `stdout` and `stderr` goes through
/// outlets, and no write waits. Make it when the descriptors 1 and 2 are what they shall be.
class StandardStreams {
 public:
  StandardStreams();
  StandardStreams(const StandardStreams&) = delete;
  StandardStreams& operator=(const StandardStreams&) = delete;
  /// Gives the C library its own streams back. What is still held is lost. Whoever kept the value
  /// that `stdout` had may go on writing to it: that reaches the descriptor at once.
  ~StandardStreams();

  /// Waits while readers take what is held: at most `patience_s` seconds without progress, and one
  /// second once `watch`, which may be null, says that the run must stop. The rest is left out,
  /// which stderr is told.
  void finish(double patience_s, Watch* watch);
  /// What was written to stdout is lost, on a full disk for instance. A reader that has left, as
  /// `head` does, had what it wanted.
  bool lost_stdout() const;

 private:
  Outlet out_, err_;
  bool told_of_loss_ = false;
  std::FILE *before_out_, *before_err_;
};

}  // namespace kbench
