// One conversation with workers of this machine: starts them, gives them jobs, enforces limits, and
// says in words what went wrong. Replaces a worker after its death or when the kernel changes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "core/frame.h"
#include "core/message.h"
#include "runner/device_lock.h"
#include "runner/lane.h"
#include "runner/output.h"
#include "runner/watch.h"
#include "runner/worker.h"

namespace kbench {

class Session : public Lane {
 public:
  /// How workers are started, and the locks of this process; null: devices are not locked.
  struct Start {
    std::function<std::unique_ptr<Worker>()> worker;
    DeviceLocks* locks = nullptr;
  };

  /// `watch` must outlive the session.
  Session(Start start, Watch& watch);

  void ask(Setup setup) override;
  void ask(Job job) override;
  void answer(Turn turn) override;
  std::optional<News> news() override;
  void add_waits(Waits& waits) const override;
  void observe(std::function<void(const Event&)> observer) override {
    observer_ = std::move(observer);
  }
  bool has_worker() const override { return worker_ != nullptr; }
  void finish() override;
  void end() override;

  /// `ask` and the wait for its answer.
  std::variant<Hello, Failure> set_up(Setup setup);
  std::variant<Reply, Failure> run(Job job);

  /// Begins a job with Job::paced: its set-up, warm-up and checked pass, up to the first Ready; or
  /// to its Reply when it ends before.
  std::variant<Ready, Reply, Failure> begin(Job job);

  /// Answers the Ready of the job begun: one timed repeat up to the next Ready, or its end.
  std::variant<Ready, Reply, Failure> give_turn(bool more);

  /// True once a worker could not be ended (a thread that hangs): the process must leave by _exit.
  bool abandoned() const { return abandoned_; }

 private:
  using Clock = Watch::Clock;

  void converse(const std::string& token, const Message& message);
  News wait_for_news();
  std::optional<News> take_message(const std::string& payload);
  std::optional<News> read_messages();
  std::optional<News> check_limits();
  bool send(std::string_view frame);
  bool read_socket();
  void read_output();
  void begin_limit();
  void lock(Hello& hello);
  const char* misplaced(const News& news) const;
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
  std::function<void(const Event&)> observer_;
  Event event_;  ///< the newest of the present job
  std::optional<Clock::time_point> hang_at_;
  std::optional<Failure> refusal_;  ///< of a question that could not even be asked
  bool wants_hello_ = false;        ///< the open question is a set-up
  bool wants_lock_ = false;         ///< ... that asks for a lock on the device
  bool paced_ = false;              ///< the open question is a job with turns
  bool output_open_ = false;
  bool abandoned_ = false;
};

}  // namespace kbench
