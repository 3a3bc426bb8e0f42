// The runner's side of the channel: one message out, events in, one answer or a failure in words.
// Knows neither what a job means nor where results go.
#include "runner/session.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>

#include "core/text.h"
#include "runner/nonce.h"
#include "runner/say.h"

namespace kbench {
namespace {

constexpr double k_longest_limit_s = 1e9;
/// A worker that is let go may have a profiler's data to write.
constexpr std::chrono::seconds k_farewell(10);

bool is_readable(int fd) {
  pollfd entry{fd, POLLIN, 0};
  return poll(&entry, 1, 0) > 0 && (entry.revents & (POLLIN | POLLHUP)) != 0;
}

/// A greeting is no answer to a job: news() has made a failure of it.
std::variant<Ready, Reply, Failure> without_hello(Lane::News news) {
  if (auto* ready = std::get_if<Ready>(&news)) return std::move(*ready);
  if (auto* reply = std::get_if<Reply>(&news)) return std::move(*reply);
  return std::get<Failure>(std::move(news));
}

}  // namespace

Session::Session(Start start, Watch& watch)
    : start_(std::move(start)), watch_(watch), output_([](std::string_view line) { say(line); }) {}

void Session::ask(Setup setup) {
  finish();
  refusal_.reset();
  wants_hello_ = true;
  wants_lock_ = setup.lock;
  if (abandoned_) {
    refusal_ = Failure{Failure::Kind::hang, "not run (the worker's thread does not return)"};
    return;
  }
  try {
    worker_ = start_.worker();
  } catch (const Error& error) {
    // No reason to lose a verdict: this case fails, and the next one tries again.
    refusal_ = Failure{Failure::Kind::none, error.what()};
    return;
  }
  decoder_ = FrameDecoder();
  received_.clear();
  output_open_ = worker_->output() >= 0;
  setup.token = random_word("a token");
  event_ = Event{};
  event_.phase = "set-up";
  event_.what = "the worker's set-up";
  event_.limit_s = k_set_up_limit_s;
  converse(setup.token, setup);
}

void Session::ask(Job job) {
  KBENCH_ASSERT(worker_ != nullptr);
  wants_hello_ = false;
  output_.begin_case();
  job.token = random_word("a token");
  event_ = Event{};
  event_.limit_s = k_set_up_limit_s;  // until the first word on the job
  paced_ = job.paced;
  converse(job.token, job);
}

void Session::answer(Turn turn) {
  KBENCH_ASSERT(worker_ != nullptr);
  turn.token = token_;
  converse(token_, turn);
}

std::variant<Hello, Failure> Session::set_up(Setup setup) {
  ask(std::move(setup));
  News news = wait_for_news();
  if (auto* hello = std::get_if<Hello>(&news)) return std::move(*hello);
  return std::get<Failure>(std::move(news));
}

std::variant<Reply, Failure> Session::run(Job job) {
  ask(std::move(job));
  News news = wait_for_news();
  if (auto* reply = std::get_if<Reply>(&news)) return std::move(*reply);
  return std::get<Failure>(std::move(news));
}

std::variant<Ready, Reply, Failure> Session::begin(Job job) {
  KBENCH_ASSERT(job.paced);
  ask(std::move(job));
  return without_hello(wait_for_news());
}

std::variant<Ready, Reply, Failure> Session::give_turn(bool more) {
  answer(Turn{"", more, 0});
  return without_hello(wait_for_news());
}

void Session::finish() {
  if (worker_ != nullptr && worker_->status() >= 0) {
    shutdown(worker_->socket(), SHUT_WR);
    const Clock::time_point deadline = Clock::now() + k_farewell;
    for (bool gone = false; !gone && !watch_.must_stop() && Clock::now() < deadline;) {
      Waits waits;
      add_waits(waits);
      waits.add(deadline);
      waits.wait(watch_);
      gone = is_readable(worker_->status());
      read_output();
      // What it still says is no answer to anything.
      read_socket();
      received_.clear();
    }
  }
  end();
}

void Session::end() {
  if (worker_ == nullptr) return;
  if (!worker_->end()) {
    abandoned_ = worker_->status() < 0;
    if (!abandoned_) say("a process of the worker does not die; it is left to the keeper");
  }
  read_output();
  output_.flush();
  worker_.reset();
}

void Session::converse(const std::string& token, const Message& message) {
  token_ = token;
  begin_limit();
  if (!send(encode_frame(to_json(message)))) refusal_ = channel_closed();
}

/// The newest event's limit runs from now on.
void Session::begin_limit() {
  hang_at_.reset();
  // Somebody with a debugger may stop in kbench's own code for as long as they like.
  const bool own_code_of_thread = event_.what.empty() && worker_->status() < 0;
  if (own_code_of_thread || !(event_.limit_s > 0) || !std::isfinite(event_.limit_s)) return;
  const std::chrono::duration<double> limit(std::min(event_.limit_s, k_longest_limit_s));
  hang_at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit);
}

bool Session::send(std::string_view frame) {
  while (!frame.empty()) {
    const ssize_t count = ::send(worker_->socket(), frame.data(), frame.size(), MSG_NOSIGNAL);
    if (count > 0) {
      frame.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd entry{worker_->socket(), POLLOUT, 0};
      constexpr int k_reading_limit_ms = 10000;
      if (poll(&entry, 1, k_reading_limit_ms) <= 0) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

std::optional<Lane::News> Session::news() {
  if (refusal_) return *std::exchange(refusal_, std::nullopt);
  if (worker_ == nullptr) return std::nullopt;
  // Everything that the worker said comes before the news of its death.
  const bool dead = worker_->status() >= 0 && is_readable(worker_->status());
  read_output();
  const std::size_t before = received_.size();
  const bool open = read_socket();
  const bool silent = received_.size() == before;
  std::optional<News> found = read_messages();
  if (!found && (!open || (dead && silent))) found = channel_closed();
  if (!found) found = check_limits();
  if (!found) return std::nullopt;
  if (std::holds_alternative<Failure>(*found)) return found;
  read_output();
  output_.flush();
  if (auto* hello = std::get_if<Hello>(&*found)) lock(*hello);
  // The wait for a turn is not the worker's.
  if (std::holds_alternative<Ready>(*found)) hang_at_.reset();
  if (const char* wrong = misplaced(*found)) {
    return fail(Failure::Kind::disturbed,
                fmt::format("worker's channel was disturbed ({})", wrong));
  }
  return found;
}

/// Why this is no answer to the open question, if so.
const char* Session::misplaced(const News& news) const {
  const bool hello = std::holds_alternative<Hello>(news);
  if (wants_hello_) return hello ? nullptr : "a reply before any job";
  if (hello) return "a second greeting";
  if (std::holds_alternative<Ready>(news) && !paced_)
    return "it waits for a turn in a job without turns";
  return nullptr;
}

/// Makes a greeting from a device that others use one of a device that cannot be used. The host has
/// no UUID and no lock: its cores are everybody's.
void Session::lock(Hello& hello) {
  if (!wants_lock_ || start_.locks == nullptr || !hello.device || hello.device->uuid.empty())
    return;
  const std::optional<std::string> words = start_.locks->take(hello.device->uuid);
  if (!words) return;
  hello.error = *words;
  hello.code = ExitCode::device;
  hello.device.reset();
}

void Session::add_waits(Waits& waits) const {
  if (refusal_) waits.add(Clock::now());
  if (worker_ == nullptr) return;
  waits.add(worker_->socket());
  if (output_open_) waits.add(worker_->output());
  waits.add(worker_->status());
  waits.add(hang_at_);
}

Lane::News Session::wait_for_news() {
  for (;;) {
    if (auto found = news()) return std::move(*found);
    Waits waits;
    add_waits(waits);
    waits.wait(watch_);
  }
}

/// Reads what there is; false at the end of the stream.
bool Session::read_socket() {
  std::array<char, 65536> bytes;
  // A writer without end must not keep us from looking at the limits.
  for (int round = 0; round < 16; ++round) {
    const ssize_t count = ::recv(worker_->socket(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count > 0) {
      received_.append(bytes.data(), static_cast<std::size_t>(count));
    } else {
      return count < 0 && (errno == EAGAIN || errno == EINTR);
    }
  }
  return true;
}

void Session::read_output() {
  if (worker_ == nullptr || !output_open_) return;
  std::array<char, 65536> bytes;
  for (int round = 0; round < 16; ++round) {
    const ssize_t count = ::read(worker_->output(), bytes.data(), bytes.size());
    output_open_ = count != 0;
    if (count <= 0) return;
    output_.take({bytes.data(), static_cast<std::size_t>(count)});
  }
}

std::optional<Lane::News> Session::read_messages() {
  try {
    decoder_.feed(std::exchange(received_, {}));
    while (auto payload = decoder_.next()) {
      if (auto found = take_message(*payload)) return found;
    }
  } catch (const std::runtime_error& error) {
    return fail(Failure::Kind::disturbed, fmt::format("worker's channel was disturbed ({})",
                                                      shorten(to_one_line(error.what()), 200)));
  }
  return std::nullopt;
}

std::optional<Lane::News> Session::take_message(const std::string& payload) {
  Message message = from_json(payload);
  const std::string token = std::visit([](const auto& m) { return m.token; }, message);
  if (token != token_) throw std::runtime_error("a message without the token of the job");
  if (auto* event = std::get_if<Event>(&message)) {
    event_ = std::move(*event);
    if (observer_) observer_(event_);
    begin_limit();
    return std::nullopt;
  }
  if (auto* hello = std::get_if<Hello>(&message)) return std::move(*hello);
  if (auto* reply = std::get_if<Reply>(&message)) return std::move(*reply);
  if (auto* ready = std::get_if<Ready>(&message)) return std::move(*ready);
  throw std::runtime_error("a message that only the runner sends");
}

std::optional<Lane::News> Session::check_limits() {
  if (watch_.must_stop()) {
    return fail(Failure::Kind::stopped, fmt::format("stopped ({})", watch_.reason()));
  }
  if (hang_at_ && Clock::now() >= *hang_at_) {
    return fail(Failure::Kind::hang,
                fmt::format("{} did not return within {:g} s: killed{}",
                            event_.what.empty() ? "kbench's own code" : to_one_line(event_.what),
                            event_.limit_s, phase()));
  }
  return std::nullopt;
}

Failure Session::channel_closed() {
  if (worker_->status() < 0) {
    return fail(Failure::Kind::disturbed, "worker's channel was disturbed (closed)" + phase());
  }
  // A death closes the channel a moment before the keeper can tell of it.
  constexpr int k_death_notice_ms = 1000;
  pollfd entry{worker_->status(), POLLIN, 0};
  if (poll(&entry, 1, k_death_notice_ms) <= 0) {
    return fail(Failure::Kind::disturbed,
                "worker's channel was disturbed (closed by the living worker)" + phase());
  }
  const std::string how = worker_->death().value_or("lost");
  return fail(Failure::Kind::death, fmt::format("worker {} before replying{}", how, phase()));
}

Failure Session::fail(Failure::Kind kind, std::string words) {
  end();
  return Failure{kind, std::move(words)};
}

std::string Session::phase() const {
  if (event_.phase.empty()) return "";
  const std::string name = shorten(to_one_line(event_.phase), 60);
  return event_.repeat > 0 ? fmt::format(" (phase: {} {})", name, event_.repeat)
                           : fmt::format(" (phase: {})", name);
}

}  // namespace kbench
