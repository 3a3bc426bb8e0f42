// The fake worker's part in a comparison: a job with turns, timed by a scripted clock.
#pragma once

#include <functional>
#include <string>

#include "core/message.h"

/// Plays one job of `Job::paced` after the other. Environment: FAKE_CLOCK is a file that grows by a
/// byte with every turn of any worker, so that its size is the moment; FAKE_NOISE the spread of the
/// clock's noise, FAKE_SEED its seed. A third word in the kernel's file is the factor that its
/// times have. Case `diesinturn` dies in its third turn, `lastwords` fails after the last one, and
/// `badtime` has no sound time in the second, each in the kernel `blocked` alone. In a job that
/// starts together a worker begins exactly when it is told to, and sees so 200 ns later where it
/// may hold launches back; that of rank 1 alone waits for ever in its second repeat (`onewaits`),
/// takes five times as long (`oneslow`) or fails at the end (`onewrong`).
class FakeTurns {
 public:
  using Send = std::function<void(const kbench::Message&)>;
  using Log = std::function<void(const std::string&)>;

  FakeTurns(Send send, Log log, std::function<void()> wait_forever)
      : send_(std::move(send)), log_(std::move(log)), wait_forever_(std::move(wait_forever)) {}

  void set_kernel(const std::string& path);
  void begin(const kbench::Job& job, kbench::Reply passing);
  void turn(const kbench::Turn& turn);

 private:
  double sample();
  void begin_together(const kbench::Turn& turn);
  bool plays(const char* kind) const { return is_odd_ && job_.spec.kind == kind; }

  Send send_;
  Log log_;
  std::function<void()> wait_forever_;
  bool is_prepared_ = false;
  bool is_odd_ = false;  // rank 1, the one that behaves otherwise
  std::string kernel_;
  double factor_ = 1;
  kbench::Job job_;
  kbench::Reply reply_;
};
