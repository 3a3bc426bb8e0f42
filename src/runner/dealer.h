// Deals cases to lanes: the next one to whoever is free, those of a lost lane to another one. One
// loop for one lane and for many.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runner/lane.h"

namespace kbench {

/// What the dealer is told of the cases. Numbers: i of the case, `seat` of the lane.
class Rules {
 public:
  virtual ~Rules() = default;
  /// Why case i is not even begun, if so.
  virtual std::optional<std::string> why_not_run(std::size_t i) = 0;
  /// The worker that the lane has can run case i.
  virtual bool fits(std::size_t seat, std::size_t i) = 0;
  virtual Setup make_setup(std::size_t seat, std::size_t i) = 0;
  /// Words when this worker cannot run case i.
  virtual std::optional<std::string> accept(std::size_t seat, std::size_t i, Hello hello) = 0;
  virtual Job make_job(std::size_t seat, std::size_t i) = 0;
  virtual void take_reply(std::size_t seat, std::size_t i, Reply reply) = 0;
  virtual void fail(std::optional<std::size_t> seat, std::size_t i, const Failure& failure) = 0;
  /// The lane is left out from here on.
  virtual void lose(std::size_t seat, const std::string& why) = 0;
  /// Case i goes to another lane.
  virtual void deal_again(std::size_t i, const std::string& why) = 0;
  /// Something has ended.
  virtual void report() = 0;
  /// Nothing has happened. When to say so again, where there is still something to be written.
  virtual std::optional<Watch::Clock::time_point> idle() { return std::nullopt; }
};

/// A lane whose device fails is left out, and its case is given to another one, once. Whether it
/// was the device is seen by the next set-up: where that succeeds the kernel has failed, and the
/// result stands. The last lane is never left out for that.
class Dealer {
 public:
  /// All outlive the dealer. Cases are 0 to count - 1.
  Dealer(std::vector<Lane*> lanes, Rules& rules, Watch& watch, std::size_t count);

  /// Sets up workers for case `i` on all lanes and waits for them; `first` is what the worker of
  /// the first lane has said already, if there is one. What a lane then lacks becomes the affair of
  /// its first case. Throws what Rules::accept throws.
  void greet_all(std::size_t i, std::optional<Hello> first);
  /// Case i has a result already and is given to nobody.
  void skip(std::size_t i) { waiting_.erase(i); }
  /// Runs all cases to their end.
  void run();

 private:
  enum class Phase { idle, greeting, probing, working, lost };
  struct Trouble {
    Failure failure;
    bool of_device = true;  ///< and not of the kernel
  };
  struct Seat {
    Lane* lane = nullptr;
    Phase phase = Phase::idle;
    std::size_t i = 0;               ///< case in hand unless idle or lost
    std::optional<Trouble> trouble;  ///< of the first set-up, not yet charged to a case
    std::optional<Reply> reply;      ///< held back while the device is looked at again
    std::optional<Failure> failure;  ///< the same
    std::string why_lost;
  };

  void deal();
  void give(std::size_t seat, std::size_t i);
  void handle(std::size_t seat, Lane::News news);
  void greeted(std::size_t seat, Lane::News news);
  void worked(std::size_t seat, Lane::News news);
  void probed(std::size_t seat, Lane::News news);
  std::optional<Trouble> look_at(std::size_t seat, Lane::News news);
  void charge(std::size_t seat, const Trouble& trouble);
  void settle_held(std::size_t seat);
  void lose(std::size_t seat, const std::string& why);
  void wait();
  bool has_others(std::size_t seat) const;
  bool is_busy() const;

  std::vector<Seat> seats_;
  Rules& rules_;
  Watch& watch_;
  std::set<std::size_t> waiting_;
  std::set<std::size_t> dealt_again_;
};

}  // namespace kbench
