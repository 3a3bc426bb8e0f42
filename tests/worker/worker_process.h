// A worker in a forked child, spoken to as the runner does.
#pragma once

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "worker/channel.h"
#include "worker/serve.h"

namespace kbench::test {

class WorkerProcess {
 public:
  WorkerProcess() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) throw std::runtime_error("socketpair");
    child_ = fork();
    if (child_ == 0) {
      close(ends[0]);
      if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(99);
      if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(99);
      _exit(serve(ends[1]));
    }
    close(ends[1]);
    socket_ = ends[0];
    channel_ = std::make_unique<Channel>(ends[0]);
  }
  ~WorkerProcess() {
    if (!reaped_) kill(child_, SIGKILL);
    if (!reaped_) waitpid(child_, nullptr, 0);
  }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  /// Events are kept.
  Hello set_up(const Setup& setup) {
    channel_->send(setup);
    for (;;) {
      const Message message = channel_->receive().value();
      if (const Hello* hello = std::get_if<Hello>(&message)) return *hello;
      events.push_back(std::get<Event>(message));
    }
  }
  /// The reply, or nothing when the worker died before it. Events are kept.
  std::optional<Reply> run(const Job& job) {
    channel_->send(job);
    try {
      while (const std::optional<Message> message = channel_->receive()) {
        if (const Event* event = std::get_if<Event>(&*message)) events.push_back(*event);
        if (const Reply* reply = std::get_if<Reply>(&*message)) return *reply;
      }
    } catch (const ChannelError& error) {
      channel_error = error.what();
    }
    return std::nullopt;
  }
  /// Sends a paced job and waits for its first Ready.
  Ready begin_paced(const Job& job) {
    channel_->send(job);
    return std::get<Ready>(*next_ready_or_reply());
  }
  /// Gives a paced job so many turns: what each Ready said. The reply is in `paced_reply`.
  std::vector<double> run_paced(const Job& job, int turns) {
    std::vector<double> said = {begin_paced(job).sample_ns};
    for (; turns > 0; --turns) {
      channel_->send(Turn{job.token, true});
      said.push_back(std::get<Ready>(*next_ready_or_reply()).sample_ns);
    }
    channel_->send(Turn{job.token, false});
    paced_reply = std::get<Reply>(*next_ready_or_reply());
    return said;
  }
  void send(const Message& message) { channel_->send(message); }
  /// Waits for one event of plug-in code and leaves the worker in it.
  Event run_until_called(const Job& job) {
    channel_->send(job);
    while (const std::optional<Message> message = channel_->receive()) {
      if (const Event* event = std::get_if<Event>(&*message)) {
        if (event->what == "custom_kernel") return *event;
      }
    }
    throw std::runtime_error("the worker never called custom_kernel");
  }
  /// Closes the channel and gives the worker's wait status.
  int close_and_wait() {
    channel_.reset();
    return wait();
  }
  int wait() {
    int status = 0;
    waitpid(child_, &status, 0);
    reaped_ = true;
    return status;
  }
  int socket() const { return socket_; }
  bool is_alive() const { return kill(child_, 0) == 0 && waitpid(child_, nullptr, WNOHANG) == 0; }

  std::vector<Event> events;
  std::string channel_error;
  std::optional<Reply> paced_reply;

 private:
  std::optional<Message> next_ready_or_reply() {
    for (;;) {
      std::optional<Message> message = channel_->receive();
      if (!message || !std::holds_alternative<Event>(*message)) return message;
    }
  }

  pid_t child_ = -1;
  int socket_ = -1;
  bool reaped_ = false;
  std::unique_ptr<Channel> channel_;
};

}  // namespace kbench::test
