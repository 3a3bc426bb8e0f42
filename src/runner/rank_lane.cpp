// Questions to another rank and its answers, with a bound on its silence. Must not know how a
// worker is started there.
#include "runner/rank_lane.h"

#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "core/text.h"
#include "runner/rank_server.h"

namespace kbench {
namespace {

using Clock = Watch::Clock;

/// What a rank may take to end a worker that is slow to leave.
constexpr std::chrono::seconds k_farewell(20);

}  // namespace

RankLane::RankLane(Link link, std::string name, double silence_s, Watch& watch)
    : link_(std::move(link)), name_(std::move(name)), silence_s_(silence_s), watch_(watch) {}

void RankLane::ask(Setup setup) {
  has_worker_ = false;
  ++number_;
  send(setup);
}

void RankLane::ask(Job job) {
  ++number_;
  send(job);
}

void RankLane::answer(Turn turn) { send(turn); }

void RankLane::send(const Message& question) {
  // A link that does not take it is closed, which news() tells.
  link_.send({Letter::Kind::question, number_, to_json(question)});
}

std::optional<Lane::News> RankLane::news() {
  if (watch_.must_stop()) {
    end();
    return Failure{Failure::Kind::stopped, fmt::format("stopped ({})", watch_.reason())};
  }
  while (const std::optional<Letter> letter = link_.take()) {
    if (letter->number != number_) continue;  // of a question that is closed
    try {
      if (auto found = take(*letter)) return found;
    } catch (const std::runtime_error& error) {
      return lost(fmt::format("its answer makes no sense: {}", error.what()));
    }
  }
  if (!link_.is_open()) return lost("its connection closed");
  if (Clock::now() >= silent_at()) return lost(silence());
  return std::nullopt;
}

std::optional<Lane::News> RankLane::take(const Letter& letter) {
  if (letter.kind == Letter::Kind::failure) {
    has_worker_ = false;
    return failure_of(letter.body);
  }
  if (letter.kind != Letter::Kind::answer) return std::nullopt;
  Message message = from_json(letter.body);
  if (auto* hello = std::get_if<Hello>(&message)) {
    has_worker_ = true;
    return std::move(*hello);
  }
  if (auto* reply = std::get_if<Reply>(&message)) return std::move(*reply);
  if (auto* ready = std::get_if<Ready>(&message)) return std::move(*ready);
  throw std::runtime_error("a message that only rank 0 sends");
}

Failure RankLane::lost(const std::string& why) {
  link_.close();
  has_worker_ = false;
  return Failure{Failure::Kind::lost, fmt::format("{} is gone ({})", name_, why)};
}

std::string RankLane::silence() const {
  return fmt::format("not a word for {:g} s; `--rank-timeout SECONDS` waits longer", silence_s_);
}

Clock::time_point RankLane::silent_at() const {
  return link_.heard() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(silence_s_));
}

void RankLane::add_waits(Waits& waits) const {
  waits.add(link_.socket());
  waits.add(link_.is_open() ? silent_at() : Clock::now());
}

void RankLane::end() {
  has_worker_ = false;
  ++number_;
  if (link_.is_open()) link_.send({Letter::Kind::end, number_, ""});
}

void RankLane::finish() {
  if (!has_worker_ || watch_.must_stop()) return end();
  has_worker_ = false;
  link_.send({Letter::Kind::finish, ++number_, ""});
  const Clock::time_point deadline = Clock::now() + k_farewell;
  while (link_.is_open() && !watch_.must_stop() && Clock::now() < deadline) {
    while (const auto letter = link_.take()) {
      if (letter->kind == Letter::Kind::finish && letter->number == number_) return;
    }
    Waits waits;
    waits.add(link_.socket());
    waits.add(deadline);
    waits.wait(watch_);
  }
}

}  // namespace kbench
