// One conversation with workers: starts them, gives them jobs, enforces limits, and says in words
// what went wrong. Replaces a worker after its death or when the kernel changes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "core/frame.h"
#include "core/message.h"
#include "runner/output.h"
#include "runner/watch.h"
#include "runner/worker.h"

namespace kbench {

/// Why there is no answer. `words` is what the case fails with.
struct Failure {
  /// `none`: no worker could be started.
  enum class Kind { death, hang, disturbed, stopped, none } kind = Kind::death;
  std::string words;
};

class Session {
 public:
  using Start = std::function<std::unique_ptr<Worker>()>;

  /// `watch` must outlive the session.
  Session(Start start, Watch& watch);

  /// Ends the worker there is, starts a new one and sets it up; fills in the token.
  std::variant<Hello, Failure> set_up(Setup setup);

  /// Runs one job on the worker of the last set_up; fills in the token. After a Failure there is no
  /// worker any more.
  std::variant<Reply, Failure> run(Job job);

  /// Begins a job with Job::paced: its set-up, warm-up and checked pass, up to the first Ready; or
  /// to its Reply when it ends before.
  std::variant<Ready, Reply, Failure> begin(Job job);

  /// Answers the Ready of the job begun: one timed repeat up to the next Ready, or its end.
  std::variant<Ready, Reply, Failure> give_turn(bool more);

  bool has_worker() const { return worker_ != nullptr; }
  /// Lets the worker leave by itself, so that a profiler inside it can write its data, then ends
  /// what is left.
  void finish();
  /// Ends the worker and all its processes at once.
  void end();
  /// True once a worker could not be ended (a thread that hangs): the process must leave by _exit.
  bool abandoned() const { return abandoned_; }

 private:
  using Answer = std::variant<Hello, Reply, Ready, Failure>;
  using Clock = Watch::Clock;

  Answer converse(const std::string& token, const Message& message);
  std::variant<Ready, Reply, Failure> take_turn_answer(Answer answer);
  Answer wait_for_answer();
  std::optional<Answer> take_message(const std::string& payload);
  std::optional<Answer> read_messages();
  std::optional<Answer> check_limits();
  bool send(std::string_view frame);
  void wait_for_news();
  bool read_socket();
  void read_output();
  void begin_limit();
  Failure fail(Failure::Kind kind, std::string words);
  Failure channel_closed();
  std::string phase() const;

  Start start_;
  Watch& watch_;
  std::unique_ptr<Worker> worker_;
  FrameDecoder decoder_;
  std::string received_;  ///< not yet given to the decoder
  OutputForwarder output_;
  std::string token_;
  Event event_;  ///< the newest of the present job
  std::optional<Clock::time_point> hang_at_;
  bool status_ready_ = false;
  bool output_open_ = false;
  bool abandoned_ = false;
};

}  // namespace kbench
