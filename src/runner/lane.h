// A lane: a place where one worker at a time runs cases on one device, here or at another rank.
// Questions are asked and answers fetched without waiting, so that one loop serves many lanes.
#pragma once

#include <poll.h>

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/message.h"
#include "runner/watch.h"

namespace kbench {

/// Why there is no answer. `words` is what the case fails with.
struct Failure {
  /// `none`: no worker could be started. `lost`: the lane is gone with all that it had, and takes
  /// no further question.
  enum class Kind { death, hang, disturbed, stopped, none, lost } kind = Kind::death;
  std::string words;
};

/// What a loop over lanes waits for.
struct Waits {
  std::vector<pollfd> entries;
  std::optional<Watch::Clock::time_point> until;  ///< the nearest of all added

  void add(int fd);  ///< readable; nothing for -1
  void add(std::optional<Watch::Clock::time_point> moment);
  /// Returns when something is readable, a moment has come, or `watch` has news.
  void wait(const Watch& watch);
};

/// CLOCK_MONOTONIC of a lane's machine: so far ahead of this one's, known to plus or minus
/// `uncertainty_ns`.
struct ClockOffset {
  double offset_ns = 0, uncertainty_ns = 0;
};

class Lane {
 public:
  using News = std::variant<Hello, Reply, Ready, Failure>;

  virtual ~Lane() = default;
  /// Ends the worker there is, starts a new one and sets it up. The token is the lane's affair.
  virtual void ask(Setup setup) = 0;
  /// Gives the worker of the last set-up a job. Only when there is a worker and no open question.
  virtual void ask(Job job) = 0;
  /// Answers the Ready of a paced job, which is then open again.
  virtual void answer(Turn turn) = 0;
  /// Asks the lane's machine for its time, while no question is open. Starts in Turn and Reply are
  /// in the time of this machine; the lane converts them by what was found last.
  virtual ClockOffset compare_clocks() { return {}; }
  /// The answer to the open question, once it is there. After a Failure there is no worker.
  virtual std::optional<News> news() = 0;
  /// Told each event of the jobs from here on. A lane that hears of no events tells none.
  virtual void observe(std::function<void(const Event&)>) {}
  virtual void add_waits(Waits& waits) const = 0;
  virtual bool has_worker() const = 0;
  /// Lets the worker leave by itself, so that a profiler inside it can write its data, then ends
  /// what is left.
  virtual void finish() = 0;
  /// Ends the worker and all its processes at once.
  virtual void end() = 0;
};

}  // namespace kbench
