// One conversation with a local worker, relayed: limits and deaths are noticed here, beside the
// worker, and told to rank 0 in words. Parses no option and writes no result.
#include "runner/rank_server.h"

#include <chrono>
#include <stdexcept>
#include <string>

namespace kbench {
namespace {

using Clock = Watch::Clock;

/// So often rank 0 hears that this rank lives, whatever its worker does.
constexpr std::chrono::milliseconds k_beat(500);

class RankServer {
 public:
  RankServer(Link& link, Session& session, Watch& watch)
      : link_(link), session_(session), watch_(watch) {}

  void serve() {
    while (link_.is_open() && !watch_.must_stop()) {
      while (const auto letter = link_.take()) obey(*letter);
      if (open_) relay();
      if (Clock::now() >= next_beat_) beat();
      wait();
    }
    session_.end();
  }

 private:
  void obey(const Letter& letter) {
    if (letter.kind == Letter::Kind::end) {
      open_ = false;
      session_.end();
    } else if (letter.kind == Letter::Kind::finish) {
      open_ = false;
      session_.finish();
      link_.send({Letter::Kind::finish, letter.number, ""});
    } else if (letter.kind == Letter::Kind::time) {
      link_.send({Letter::Kind::time, letter.number, std::to_string(monotonic_ns())});
    } else if (letter.kind == Letter::Kind::question) {
      ask(letter);
    }
  }

  void ask(const Letter& letter) {
    number_ = letter.number;
    try {
      Message message = from_json(letter.body);
      if (auto* setup = std::get_if<Setup>(&message)) {
        session_.ask(std::move(*setup));
      } else if (!session_.has_worker()) {
        return tell(Failure{Failure::Kind::death, "the rank has no worker for this job"});
      } else if (auto* job = std::get_if<Job>(&message)) {
        session_.ask(std::move(*job));
      } else if (auto* turn = std::get_if<Turn>(&message)) {
        session_.answer(std::move(*turn));
      } else {
        link_.close();
      }
      open_ = true;
    } catch (const std::runtime_error&) {
      link_.close();
    }
  }

  void relay() {
    auto news = session_.news();
    if (!news) return;
    open_ = false;
    if (auto* failure = std::get_if<Failure>(&*news)) return tell(*failure);
    if (auto* hello = std::get_if<Hello>(&*news)) return tell(Message(std::move(*hello)));
    if (auto* reply = std::get_if<Reply>(&*news)) return tell(Message(std::move(*reply)));
    tell(Message(std::get<Ready>(std::move(*news))));
  }

  void tell(const Failure& failure) {
    link_.send({Letter::Kind::failure, number_, failure_text(failure)});
  }
  void tell(const Message& message) {
    link_.send({Letter::Kind::answer, number_, to_json(message)});
  }

  void beat() {
    link_.send({Letter::Kind::beat, 0, ""});
    next_beat_ = Clock::now() + k_beat;
  }

  void wait() {
    Waits waits;
    waits.add(link_.socket());
    waits.add(next_beat_);
    if (open_) session_.add_waits(waits);
    if (link_.is_open()) waits.wait(watch_);
  }

  Link& link_;
  Session& session_;
  Watch& watch_;
  std::int64_t number_ = 0;
  bool open_ = false;  // a question without an answer yet
  Clock::time_point next_beat_ = Clock::now();
};

constexpr std::string_view k_kinds = "dhpsnl";  // in the order of Failure::Kind

}  // namespace

void serve_rank(Link& link, Session& session, Watch& watch) {
  RankServer(link, session, watch).serve();
}

std::string failure_text(const Failure& failure) {
  return k_kinds[static_cast<std::size_t>(failure.kind)] + failure.words;
}

Failure failure_of(std::string_view text) {
  const std::size_t kind = text.empty() ? std::string_view::npos : k_kinds.find(text[0]);
  if (kind == std::string_view::npos) throw std::runtime_error("a failure of no known kind");
  return Failure{static_cast<Failure::Kind>(kind), std::string(text.substr(1))};
}

}  // namespace kbench
