// The lanes of a run: one a device on one machine, or one a rank.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "runner/options.h"
#include "runner/rank_lane.h"
#include "runner/ranks.h"
#include "runner/run_cases.h"
#include "runner/session.h"
#include "runner/watch.h"

namespace kbench {

class Lanes {
 public:
  /// `ranks` as rank 0 sees them; of size 1 where there is no launcher.
  Lanes(Session::Start start, Ranks ranks, Watch& watch);

  /// The lane of this process, which serves everything else that needs a worker.
  Session& first() { return sessions_.front(); }

  /// One place for each device that the options ask for, or for each rank. Throws Error(device)
  /// when all devices are asked for and there is none, Error(usage) for what ranks cannot do.
  std::vector<Place> places(const Options& options);

 private:
  std::vector<Place> local_places(const Options& options);
  std::vector<Place> rank_places(const Options& options);

  Session::Start start_;
  Ranks ranks_;
  Watch& watch_;
  std::deque<Session> sessions_;
  std::deque<RankLane> rank_lanes_;
};

}  // namespace kbench
