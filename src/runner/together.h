// All lanes run the same case at the same time: `--together`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/stats.h"
#include "runner/dealer.h"
#include "runner/lane.h"

namespace kbench {

/// What one lane came to, and how well its machine's clock is known: the comparisons before and
/// after the case, with what the offset changed in between.
struct LaneOutcome {
  std::variant<Reply, Failure> news;
  double clock_uncertainty_ns = 0;
};

/// Why a case has failed, if it has: the first lane with words of its own. One that was only
/// interrupted says nothing as long as another one has failed.
struct BadOutcome {
  std::size_t seat = 0;
  Failure failure;
};
std::optional<BadOutcome> find_bad(const std::vector<LaneOutcome>& outcomes);

/// The rules of a run whose cases are everybody's. `lose`, `deal_again` and `take_reply` are not
/// used.
class TogetherRules : public Rules {
 public:
  /// One outcome a lane, in their order; `stop`: why the repeats ended.
  virtual void take_all(std::size_t i, std::vector<LaneOutcome> outcomes, StopReason stop) = 0;
  virtual StopLimits limits() const = 0;
  /// 0: the stop rule decides.
  virtual std::int64_t exact_repeats() const = 0;
};

/// Leads every case: all workers prepare a repeat, wait with a flushed cache, and are given one
/// moment to start at. One stop rule, fed with the slowest lane, ends the repeats of all. When one
/// fails the others are released at once; when one is lost no further case is run.
class Together {
 public:
  /// All outlive it. Cases are 0 to count - 1.
  Together(std::vector<Lane*> lanes, TogetherRules& rules, Watch& watch, std::size_t count);
  void run();

 private:
  enum class Phase { asked, at_turn, at_start, ended };
  struct Part {
    Lane* lane = nullptr;
    Phase phase = Phase::ended;
    double sample_ns = 0;  ///< of the repeat just made
    ClockOffset clock;     ///< before the case
    std::variant<Reply, Failure> outcome = Failure{};
  };

  bool set_up(std::size_t i);
  std::optional<Failure> greeted(std::size_t k, std::size_t i, Lane::News news);
  void run_case(std::size_t i);
  void close_case(std::size_t i);
  void take(Part& part, Lane::News news);
  /// Answers all at once when all wait for the same, or when one has ended.
  void lead();
  bool wants_more();
  void answer(Part& part, const Turn& turn);
  void wait();
  bool all(Phase phase) const;
  bool any(Phase phase) const;

  std::vector<Part> parts_;
  TogetherRules& rules_;
  Watch& watch_;
  std::size_t count_;
  std::string lost_;  // why no further case can be run by all
  // Of the present case.
  std::optional<StopRule> rule_;
  std::optional<Watch::Clock::time_point> begin_;
  std::int64_t repeats_ = 0;
  StopReason stop_ = StopReason::none;
};

}  // namespace kbench
