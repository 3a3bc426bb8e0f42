// Starts and ends the worker as a process, under its keeper or, for a profiler, as a plain child.
// Knows descriptors and signals; does not know what is said on the channel.
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runner/descendants.h"
#include "runner/fd.h"
#include "runner/keeper.h"
#include "runner/paths.h"
#include "runner/worker.h"

namespace kbench {
namespace {

constexpr int k_patience_ms = 10000;

[[noreturn]] void refuse(const char* what) {
  throw Error(ExitCode::usage,
              fmt::format("cannot start a worker ({}: {}); free processes and descriptors", what,
                          std::strerror(errno)));
}

struct Pipe {
  Fd read, write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) refuse("pipe2");
  return {Fd(ends[0]), Fd(ends[1])};
}

std::string describe(int wait_status) {
  if (wait_status < 0) {
    return fmt::format("could not be started (fork: {})", std::strerror(-wait_status));
  }
  if (WIFSTOPPED(wait_status)) {
    const char* name = sigabbrev_np(WSTOPSIG(wait_status));
    return fmt::format("stopped by SIG{}", name != nullptr ? name : "?");
  }
  if (WIFSIGNALED(wait_status)) {
    const char* name = sigabbrev_np(WTERMSIG(wait_status));
    return name != nullptr ? fmt::format("killed by SIG{}", name)
                           : fmt::format("killed by signal {}", WTERMSIG(wait_status));
  }
  return fmt::format("exited with status {}", WEXITSTATUS(wait_status));
}

/// What both kinds of process have in common: the channel, the output, and the processes that are
/// not to be ended with it.
class ForkedWorker : public Worker {
 public:
  ForkedWorker(const ForkedWorker&) = delete;
  ForkedWorker& operator=(const ForkedWorker&) = delete;

  int socket() const override { return socket_.get(); }
  int output() const override { return output_.get(); }
  int status() const override { return status_.get(); }

 protected:
  explicit ForkedWorker(Siblings& siblings) : siblings_(siblings), before_(children_of(getpid())) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) refuse("socketpair");
    socket_ = Fd(ends[0]);
    worker_socket_ = Fd(ends[1]);
    Pipe output = make_pipe();
    output_ = std::move(output.read);
    worker_output_ = std::move(output.write);
    // Orphans of the worker (and of a killed keeper) come here.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~ForkedWorker() override { std::erase(siblings_, child_); }

  /// After the fork: the worker's ends belong to the child.
  void hand_over(pid_t child) {
    child_ = child;
    siblings_.push_back(child);
    worker_socket_.reset();
    worker_output_.reset();
    fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
    fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  }

  /// Ends what this worker has left below the runner.
  bool end_orphans() {
    std::vector<pid_t> spared = before_;
    spared.insert(spared.end(), siblings_.begin(), siblings_.end());
    std::erase(spared, child_);
    return end_descendants(spared, k_patience_ms);
  }

  Fd socket_, output_, status_;
  Fd worker_socket_, worker_output_;

 private:
  Siblings& siblings_;
  std::vector<pid_t> before_;
  pid_t child_ = -1;  // directly below the runner: the keeper, or the worker itself
};

class KeptWorker : public ForkedWorker {
 public:
  explicit KeptWorker(Siblings& siblings) : ForkedWorker(siblings) {
    Pipe life = make_pipe(), status = make_pipe();
    const std::string executable = executable_path();
    keeper_ = fork();
    if (keeper_ < 0) refuse("fork");
    if (keeper_ == 0) {
      keep({life.read.get(), status.write.get(), worker_socket_.get(), worker_output_.get()},
           executable);
    }
    life_ = std::move(life.write);
    status_ = std::move(status.read);
    hand_over(keeper_);
  }
  ~KeptWorker() override { end(); }

  std::optional<std::string> death() override {
    int value = 0;
    const ssize_t count = ::read(status_.get(), &value, sizeof value);
    if (count == static_cast<ssize_t>(sizeof value)) return describe(value);
    int keeper = 0;
    if (waitpid(keeper_, &keeper, WNOHANG) != keeper_) return "lost (its keeper was killed)";
    keeper_ = -1;
    end_orphans();
    return fmt::format("lost (its keeper was {})", describe(keeper));
  }

  bool end() override {
    if (keeper_ <= 0) return true;
    life_.reset();
    int status = 0;
    if (!wait_for_keeper(status)) {
      // Stopped by somebody: killed, it leaves the worker to die with it and the rest to us.
      kill(keeper_, SIGKILL);
      waitpid(keeper_, &status, 0);
    }
    keeper_ = -1;
    if (WIFEXITED(status)) return WEXITSTATUS(status) == 0;
    return end_orphans();
  }

 private:
  /// The status pipe closes when the keeper exits: nobody else holds its write end.
  bool wait_for_keeper(int& status) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(k_patience_ms);
    std::array<char, 64> rest{};
    for (;;) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      pollfd entry{status_.get(), POLLIN, 0};
      if (left.count() <= 0 || poll(&entry, 1, static_cast<int>(left.count())) == 0) return false;
      if ((entry.revents & (POLLIN | POLLHUP)) != 0 &&
          ::read(status_.get(), rest.data(), rest.size()) <= 0) {
        break;
      }
    }
    return waitpid(keeper_, &status, 0) == keeper_;
  }

  Fd life_;
  pid_t keeper_ = -1;
};

/// A pid_t as a descriptor that turns readable at its death.
Fd open_process(pid_t process) {
  const long fd = syscall(SYS_pidfd_open, process, 0);
  if (fd < 0) refuse("pidfd_open");
  return Fd(static_cast<int>(fd));
}

class PlainWorker : public ForkedWorker {
 public:
  explicit PlainWorker(Siblings& siblings) : ForkedWorker(siblings) {
    const std::string executable = executable_path();
    const pid_t parent = getpid();
    worker_ = fork();
    if (worker_ < 0) refuse("fork");
    if (worker_ == 0) {
      become_worker({-1, -1, worker_socket_.get(), worker_output_.get()}, parent, executable, true);
    }
    try {
      status_ = open_process(worker_);
    } catch (const Error&) {
      kill(worker_, SIGKILL);
      waitpid(worker_, nullptr, 0);
      throw;
    }
    hand_over(worker_);
  }
  ~PlainWorker() override { end(); }

  std::optional<std::string> death() override {
    int value = 0;
    if (worker_ <= 0 || waitpid(worker_, &value, WNOHANG) != worker_) return std::nullopt;
    worker_ = -1;
    return describe(value);
  }

  bool end() override {
    if (ended_) return true;
    ended_ = end_orphans();
    worker_ = -1;
    return ended_;
  }

 private:
  pid_t worker_ = -1;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<Worker> start_worker_process(Siblings& siblings) {
  return std::make_unique<KeptWorker>(siblings);
}

std::unique_ptr<Worker> start_worker_child(Siblings& siblings) {
  return std::make_unique<PlainWorker>(siblings);
}

}  // namespace kbench
