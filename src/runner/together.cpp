// The conductor of workers that start together. Knows turns and moments; not what is timed, nor
// what comes of it.
#include "runner/together.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace kbench {
namespace {

using Clock = Watch::Clock;

/// From the word of rank 0 to the start: what a message to the farthest rank and the launches of a
/// repeat may take. Where they take longer the repeat starts later there, and the skew says so.
constexpr std::int64_t k_notice_ns = 5'000'000;

}  // namespace

std::optional<BadOutcome> find_bad(const std::vector<LaneOutcome>& outcomes) {
  std::optional<BadOutcome> stopped;
  for (std::size_t k = 0; k < outcomes.size(); ++k) {
    if (const auto* reply = std::get_if<Reply>(&outcomes[k].news)) {
      if (!reply->passed) return BadOutcome{k, {Failure::Kind::death, reply->error}};
      continue;
    }
    const auto& failure = std::get<Failure>(outcomes[k].news);
    if (failure.kind != Failure::Kind::stopped) return BadOutcome{k, failure};
    if (!stopped) stopped = BadOutcome{k, failure};
  }
  return stopped;
}

Together::Together(std::vector<Lane*> lanes, TogetherRules& rules, Watch& watch, std::size_t count)
    : rules_(rules), watch_(watch), count_(count) {
  for (Lane* lane : lanes) parts_.emplace_back().lane = lane;
}

void Together::run() {
  for (std::size_t i = 0; i < count_; ++i) {
    rules_.report();
    std::optional<std::string> why = rules_.why_not_run(i);
    if (!why && !lost_.empty()) why = "not run (" + lost_ + "; `--together` needs all)";
    if (why) {
      rules_.fail(std::nullopt, i, {Failure::Kind::stopped, *why});
    } else if (set_up(i)) {
      run_case(i);
    }
  }
  rules_.report();
}

/// A worker for the case on every lane. False when one lacks it: the case has then failed.
bool Together::set_up(std::size_t i) {
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    Part& part = parts_[k];
    part.phase = Phase::ended;
    if (part.lane->has_worker() && rules_.fits(k, i)) continue;
    part.lane->ask(rules_.make_setup(k, i));
    part.phase = Phase::asked;
  }
  bool ready = true;
  while (any(Phase::asked)) {
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      if (parts_[k].phase != Phase::asked) continue;
      auto news = parts_[k].lane->news();
      if (!news) continue;
      parts_[k].phase = Phase::ended;
      const std::optional<Failure> failure = greeted(k, i, std::move(*news));
      if (!failure) continue;
      if (failure->kind == Failure::Kind::lost) lost_ = failure->words;
      if (std::exchange(ready, false)) rules_.fail(k, i, *failure);
    }
    if (any(Phase::asked)) wait();
  }
  return ready;
}

std::optional<Failure> Together::greeted(std::size_t k, std::size_t i, Lane::News news) {
  if (auto* failure = std::get_if<Failure>(&news)) return std::move(*failure);
  const auto words = rules_.accept(k, i, std::get<Hello>(std::move(news)));
  if (!words) return std::nullopt;
  return Failure{Failure::Kind::death, *words};
}

void Together::run_case(std::size_t i) {
  for (Part& part : parts_) part.clock = part.lane->compare_clocks();
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    parts_[k].phase = Phase::asked;
    parts_[k].sample_ns = 0;
    parts_[k].lane->ask(rules_.make_job(k, i));
  }
  rule_.emplace(rules_.limits());
  begin_.reset();
  repeats_ = 0;
  stop_ = StopReason::none;
  while (!all(Phase::ended)) {
    for (Part& part : parts_) {
      if (part.phase != Phase::asked) continue;
      if (auto news = part.lane->news()) take(part, std::move(*news));
    }
    lead();
    if (any(Phase::asked)) wait();
  }
  close_case(i);
}

void Together::close_case(std::size_t i) {
  std::vector<LaneOutcome> outcomes;
  for (Part& part : parts_) {
    double uncertainty_ns = 0;
    if (auto* reply = std::get_if<Reply>(&part.outcome)) {
      if (reply->worker_unusable) part.lane->end();
      const ClockOffset after = part.lane->compare_clocks();
      uncertainty_ns = std::max(part.clock.uncertainty_ns, after.uncertainty_ns) +
                       std::abs(after.offset_ns - part.clock.offset_ns);
    } else if (std::get<Failure>(part.outcome).kind == Failure::Kind::lost) {
      lost_ = std::get<Failure>(part.outcome).words;
    }
    outcomes.push_back({std::move(part.outcome), uncertainty_ns});
  }
  rules_.take_all(i, std::move(outcomes), stop_);
}

void Together::take(Part& part, Lane::News news) {
  if (auto* ready = std::get_if<Ready>(&news)) {
    part.phase = ready->at_start ? Phase::at_start : Phase::at_turn;
    if (!ready->at_start) part.sample_ns = ready->sample_ns;
    return;
  }
  part.phase = Phase::ended;
  if (auto* reply = std::get_if<Reply>(&news)) part.outcome = std::move(*reply);
  if (auto* failure = std::get_if<Failure>(&news)) part.outcome = std::move(*failure);
}

bool Together::all(Phase phase) const {
  return std::all_of(parts_.begin(), parts_.end(),
                     [phase](const Part& part) { return part.phase == phase; });
}

bool Together::any(Phase phase) const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [phase](const Part& part) { return part.phase == phase; });
}

void Together::lead() {
  if (any(Phase::ended)) {
    for (Part& part : parts_) {
      const bool waits = part.phase == Phase::at_turn || part.phase == Phase::at_start;
      if (waits) answer(part, Turn{"", false, 0});
    }
  } else if (all(Phase::at_turn)) {
    const Turn turn{"", wants_more(), 0};
    for (Part& part : parts_) answer(part, turn);
  } else if (all(Phase::at_start)) {
    const Turn turn{"", true, monotonic_ns() + k_notice_ns};
    for (Part& part : parts_) answer(part, turn);
  }
}

/// Asked before the first repeat, which is always made, and behind each. A sample that is no time
/// counts as a repeat too: nobody may go on without end.
bool Together::wants_more() {
  if (!begin_) {
    begin_ = Clock::now();
    return true;
  }
  double slowest_ns = 0;
  for (const Part& part : parts_) slowest_ns = std::max(slowest_ns, part.sample_ns);
  ++repeats_;
  const double wall_s = std::chrono::duration<double>(Clock::now() - *begin_).count();
  stop_ = rule_->add(slowest_ns, wall_s);
  if (const std::int64_t exact = rules_.exact_repeats(); exact > 0) {
    stop_ = repeats_ < exact ? StopReason::none : StopReason::repeats;
  }
  return stop_ == StopReason::none;
}

void Together::answer(Part& part, const Turn& turn) {
  part.phase = Phase::asked;
  part.lane->answer(turn);
}

void Together::wait() {
  Waits waits;
  for (const Part& part : parts_) {
    if (part.phase == Phase::asked) part.lane->add_waits(waits);
  }
  waits.add(rules_.idle());
  waits.wait(watch_);
}

}  // namespace kbench
