// The loop over lanes: one state a lane, one step for each answer. Must not know what a case is,
// how a worker lives or where results go.
#include "runner/dealer.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace kbench {

Dealer::Dealer(std::vector<Lane*> lanes, Rules& rules, Watch& watch, std::size_t count)
    : rules_(rules), watch_(watch) {
  for (Lane* lane : lanes) seats_.emplace_back().lane = lane;
  for (std::size_t i = 0; i < count; ++i) waiting_.insert(waiting_.end(), i);
}

bool Dealer::has_others(std::size_t seat) const {
  for (std::size_t k = 0; k < seats_.size(); ++k) {
    if (k != seat && seats_[k].phase != Phase::lost) return true;
  }
  return false;
}

bool Dealer::is_busy() const {
  return std::any_of(seats_.begin(), seats_.end(), [](const Seat& seat) {
    return seat.phase != Phase::idle && seat.phase != Phase::lost;
  });
}

void Dealer::wait() {
  Waits waits;
  for (const Seat& seat : seats_) {
    if (seat.phase != Phase::idle && seat.phase != Phase::lost) seat.lane->add_waits(waits);
  }
  waits.add(rules_.idle());
  waits.wait(watch_);
}

/// What a set-up has shown: nothing when the worker can run the case in hand.
std::optional<Dealer::Trouble> Dealer::look_at(std::size_t seat, Lane::News news) {
  if (auto* failure = std::get_if<Failure>(&news)) return Trouble{std::move(*failure), true};
  Hello hello = std::get<Hello>(std::move(news));
  const bool of_device = hello.code == ExitCode::device;
  const auto words = rules_.accept(seat, seats_[seat].i, std::move(hello));
  if (!words) return std::nullopt;
  return Trouble{{Failure::Kind::death, *words}, of_device};
}

void Dealer::greet_all(std::size_t i, std::optional<Hello> first) {
  for (std::size_t k = 0; k < seats_.size(); ++k) {
    seats_[k].i = i;
    if (k == 0 && first) {
      seats_[k].trouble = look_at(k, *std::move(first));
      continue;
    }
    seats_[k].phase = Phase::greeting;
    seats_[k].lane->ask(rules_.make_setup(k, i));
  }
  while (is_busy()) {
    for (std::size_t k = 0; k < seats_.size(); ++k) {
      if (seats_[k].phase != Phase::greeting) continue;
      auto news = seats_[k].lane->news();
      if (!news) continue;
      seats_[k].phase = Phase::idle;
      seats_[k].trouble = look_at(k, std::move(*news));
    }
    if (is_busy()) wait();
  }
}

void Dealer::run() {
  for (;;) {
    // Told before the next case begins: what has ended is on record whatever that one does.
    rules_.report();
    deal();
    if (!is_busy()) return rules_.report();
    wait();
    for (std::size_t k = 0; k < seats_.size(); ++k) {
      if (seats_[k].phase == Phase::idle || seats_[k].phase == Phase::lost) continue;
      if (auto news = seats_[k].lane->news()) handle(k, std::move(*news));
    }
  }
}

void Dealer::deal() {
  std::size_t seat = 0;
  while (!waiting_.empty()) {
    const std::size_t i = *waiting_.begin();
    if (const auto why = rules_.why_not_run(i)) {
      waiting_.erase(i);
      rules_.fail(std::nullopt, i, {Failure::Kind::stopped, *why});
      rules_.report();
      continue;
    }
    while (seat < seats_.size() && seats_[seat].phase != Phase::idle) ++seat;
    if (seat < seats_.size()) {
      waiting_.erase(i);
      give(seat, i);
      // A lane that could not take it may have another one already, or none.
      if (seats_[seat].phase == Phase::idle) seat = 0;
    } else if (is_busy()) {
      return;
    } else {
      waiting_.erase(i);
      rules_.fail(std::nullopt, i,
                  {Failure::Kind::lost,
                   fmt::format("not run (no device is left: {})", seats_.front().why_lost)});
    }
  }
}

void Dealer::give(std::size_t k, std::size_t i) {
  Seat& seat = seats_[k];
  seat.i = i;
  if (const auto trouble = std::exchange(seat.trouble, std::nullopt)) return charge(k, *trouble);
  if (seat.lane->has_worker() && rules_.fits(k, i)) {
    seat.phase = Phase::working;
    seat.lane->ask(rules_.make_job(k, i));
  } else {
    seat.phase = Phase::greeting;
    seat.lane->ask(rules_.make_setup(k, i));
  }
}

void Dealer::handle(std::size_t k, Lane::News news) {
  switch (seats_[k].phase) {
    case Phase::greeting:
      return greeted(k, std::move(news));
    case Phase::probing:
      return probed(k, std::move(news));
    default:
      return worked(k, std::move(news));
  }
}

void Dealer::greeted(std::size_t k, Lane::News news) {
  if (const auto trouble = look_at(k, std::move(news))) return charge(k, *trouble);
  seats_[k].phase = Phase::working;
  seats_[k].lane->ask(rules_.make_job(k, seats_[k].i));
}

/// A set-up has failed and case i was to be run with it.
void Dealer::charge(std::size_t k, const Trouble& trouble) {
  Seat& seat = seats_[k];
  const bool lost = trouble.failure.kind == Failure::Kind::lost;
  const bool stopped = trouble.failure.kind == Failure::Kind::stopped;
  if (lost || (!stopped && trouble.of_device && has_others(k))) {
    return lose(k, trouble.failure.words);
  }
  seat.phase = Phase::idle;
  rules_.fail(k, seat.i, trouble.failure);
}

void Dealer::worked(std::size_t k, Lane::News news) {
  Seat& seat = seats_[k];
  auto* failure = std::get_if<Failure>(&news);
  auto* reply = std::get_if<Reply>(&news);
  if (failure != nullptr && failure->kind == Failure::Kind::lost) return lose(k, failure->words);
  const bool stopped = failure != nullptr && failure->kind == Failure::Kind::stopped;
  const bool sound = reply != nullptr && !reply->worker_unusable;
  if (failure != nullptr) seat.failure = std::move(*failure);
  if (reply != nullptr) seat.reply = std::move(*reply);
  if (sound || stopped || !has_others(k)) return settle_held(k);
  seat.phase = Phase::probing;
  seat.lane->ask(rules_.make_setup(k, seat.i));
}

void Dealer::settle_held(std::size_t k) {
  Seat& seat = seats_[k];
  seat.phase = Phase::idle;
  if (auto failure = std::exchange(seat.failure, std::nullopt)) rules_.fail(k, seat.i, *failure);
  if (auto reply = std::exchange(seat.reply, std::nullopt)) {
    if (reply->worker_unusable) seat.lane->end();
    rules_.take_reply(k, seat.i, std::move(*reply));
  }
}

void Dealer::probed(std::size_t k, Lane::News news) {
  Seat& seat = seats_[k];
  const auto trouble = look_at(k, std::move(news));
  const bool stopped = trouble && trouble->failure.kind == Failure::Kind::stopped;
  const bool device_fails = trouble && trouble->of_device && !stopped && has_others(k);
  if (device_fails) {
    // What the kernel was said to have done counts no more.
    seat.reply.reset();
    seat.failure.reset();
    return lose(k, trouble->failure.words);
  }
  // The new worker stays for the next case; the one that served the answer is gone already.
  if (seat.reply) seat.reply->worker_unusable = false;
  settle_held(k);
}

/// The lane is gone; its case goes to another one, once.
void Dealer::lose(std::size_t k, const std::string& why) {
  Seat& seat = seats_[k];
  seat.phase = Phase::lost;
  seat.why_lost = why;
  seat.lane->end();
  rules_.lose(k, why);
  const bool first = dealt_again_.insert(seat.i).second;
  if (first && has_others(k)) {
    waiting_.insert(seat.i);
    rules_.deal_again(seat.i, why);
  } else {
    rules_.fail(k, seat.i, {Failure::Kind::lost, why});
  }
}

}  // namespace kbench
