// Questions to another rank and its answers, with a bound on its silence. Must not know how a
// worker is started there.
#include "runner/rank_lane.h"

#include <fmt/core.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <utility>

#include "core/text.h"
#include "runner/rank_server.h"

namespace kbench {
namespace {

using Clock = Watch::Clock;

/// What a rank may take to end a worker that is slow to leave.
constexpr std::chrono::seconds k_farewell(20);

/// Exchanges of time with a rank on another machine, and the time for all of them.
constexpr int k_comparisons = 40;
constexpr std::chrono::seconds k_comparison(2);

}  // namespace

RankLane::RankLane(Link link, std::string name, double silence_s, Watch& watch, bool same_machine)
    : link_(std::move(link)),
      name_(std::move(name)),
      silence_s_(silence_s),
      watch_(watch),
      same_machine_(same_machine) {}

void RankLane::ask(Setup setup) {
  has_worker_ = false;
  ++number_;
  send(setup);
}

void RankLane::ask(Job job) {
  ++number_;
  send(job);
}

void RankLane::answer(Turn turn) {
  if (turn.start_ns != 0) turn.start_ns += std::llround(clock_.offset_ns);
  send(turn);
}

/// The quickest of some exchanges bounds the offset best: the other clock was read somewhere
/// between our two looks at ours.
ClockOffset RankLane::compare_clocks() {
  if (same_machine_) return clock_ = {};
  const Clock::time_point deadline = Clock::now() + k_comparison;
  std::optional<ClockOffset> best;
  for (int round = 0; round < k_comparisons; ++round) {
    const std::optional<ClockOffset> found = ask_time(deadline);
    if (!found) break;
    if (!best || found->uncertainty_ns < best->uncertainty_ns) best = found;
  }
  // Without an answer nothing is known: the rank's silence is noticed by whoever asks it next.
  constexpr double k_unknown_ns = 1e9;
  return clock_ = best.value_or(ClockOffset{clock_.offset_ns, k_unknown_ns});
}

std::optional<ClockOffset> RankLane::ask_time(Clock::time_point deadline) {
  const std::int64_t number = ++number_;
  const std::int64_t sent_ns = monotonic_ns();
  link_.send({Letter::Kind::time, number, ""});
  while (link_.is_open() && !watch_.must_stop() && Clock::now() < deadline) {
    while (const std::optional<Letter> letter = link_.take()) {
      const std::int64_t taken_ns = monotonic_ns();
      if (letter->kind != Letter::Kind::time || letter->number != number) continue;
      std::int64_t there_ns = 0;
      const char* end = letter->body.data() + letter->body.size();
      if (std::from_chars(letter->body.data(), end, there_ns).ptr != end) return std::nullopt;
      const double half_ns = static_cast<double>(taken_ns - sent_ns) / 2;
      return ClockOffset{static_cast<double>(there_ns - sent_ns) - half_ns, half_ns};
    }
    Waits waits;
    waits.add(link_.socket());
    waits.add(deadline);
    waits.wait(watch_);
  }
  return std::nullopt;
}

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
  if (auto* reply = std::get_if<Reply>(&message)) {
    for (StartBracket& start : reply->starts) {
      start.after_ns -= std::llround(clock_.offset_ns);
      start.before_ns -= std::llround(clock_.offset_ns);
    }
    return std::move(*reply);
  }
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
