// How the worker tells the runner where it is: one event before and after everything that may take
// long or never return.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/message.h"

namespace kbench {

/// Takes one event to the runner. May throw when the channel is gone.
using EventSink = std::function<void(const Event&)>;

/// Seconds that any phase of kbench's own code stays below on a case of `batch` matrices of order n
/// with `inputs` inputs, by orders of magnitude: only a worker that is stopped, or waits for a lock
/// that a plug-in holds, takes so long.
double own_code_limit_s(DeviceKind device, const Case& spec, std::size_t inputs);
/// Of a paced job: tells the runner the time of the repeat just made (0: none yet) and waits for
/// its leave to make one more. False: no more repeats. May throw when the channel is gone.
using TurnSource = std::function<bool(double sample_ns)>;
/// Of a job that starts together: tells the runner that the repeat is prepared and waits for the
/// moment to begin it, by CLOCK_MONOTONIC. Nothing: no repeat after all. May throw likewise.
using StartSource = std::function<std::optional<std::int64_t>()>;

/// Speaks for one job. Never used between the start and the stop of a stopwatch.
class Progress {
 public:
  Progress(std::string token, EventSink sink, double own_limit_s)
      : token_(std::move(token)), sink_(std::move(sink)), own_limit_s_(own_limit_s) {}

  /// kbench's own code runs from here on.
  void own_code(const std::string& phase, std::int64_t repeat = 0, double mean_ns = 0,
                double err_ns = 0) const {
    sink_(Event{token_, phase, repeat, own_limit_s_, "", mean_ns, err_ns});
  }

  /// The plug-in's function `what` runs from here on and must be back within `limit_s` seconds.
  void plugin_code(const std::string& phase, std::int64_t repeat, double limit_s,
                   const std::string& what) const {
    sink_(Event{token_, phase, repeat, limit_s, what, 0, 0});
  }

 private:
  std::string token_;
  EventSink sink_;
  double own_limit_s_;
};

}  // namespace kbench
