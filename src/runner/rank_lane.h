// The lane of another rank, as rank 0 sees it.
#pragma once

#include <optional>
#include <string>

#include "runner/lane.h"
#include "runner/link.h"

namespace kbench {

class RankLane : public Lane {
 public:
  /// `name` is what messages call it. A rank that says nothing for `silence_s` seconds is lost.
  /// `same_machine`: it reads the same clock as this process.
  RankLane(Link link, std::string name, double silence_s, Watch& watch, bool same_machine = true);

  void ask(Setup setup) override;
  void ask(Job job) override;
  void answer(Turn turn) override;
  ClockOffset compare_clocks() override;
  std::optional<News> news() override;
  void add_waits(Waits& waits) const override;
  bool has_worker() const override { return has_worker_; }
  void finish() override;
  void end() override;

 private:
  void send(const Message& question);
  std::optional<News> take(const Letter& letter);
  std::optional<ClockOffset> ask_time(Watch::Clock::time_point deadline);
  Failure lost(const std::string& why);
  std::string silence() const;
  Watch::Clock::time_point silent_at() const;

  Link link_;
  std::string name_;
  double silence_s_;
  Watch& watch_;
  bool same_machine_;
  ClockOffset clock_;        // as it was found last
  std::int64_t number_ = 0;  // of the newest question
  bool has_worker_ = false;
};

}  // namespace kbench
