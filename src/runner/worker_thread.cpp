// The worker as a thread of this process, for debuggers and sanitizers: nothing is isolated, and a
// thread that hangs cannot be ended.
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "core/error.h"
#include "runner/fd.h"
#include "runner/worker.h"

namespace kbench {
namespace {

constexpr int k_patience_ms = 2000;

class WorkerThread : public Worker {
 public:
  explicit WorkerThread(int (*serve)(int)) : returned_(std::make_shared<std::atomic<bool>>(false)) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw Error(ExitCode::usage, fmt::format("cannot start a worker (socketpair: {}); free "
                                               "descriptors",
                                               std::strerror(errno)));
    }
    socket_ = Fd(ends[0]);
    fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
    thread_ = std::thread([serve, socket = ends[1], returned = returned_] {
      serve(socket);
      returned->store(true);
    });
  }
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;
  ~WorkerThread() override { end(); }

  int socket() const override { return socket_.get(); }
  int output() const override { return -1; }
  int status() const override { return -1; }
  std::optional<std::string> death() override { return std::nullopt; }

  bool end() override {
    if (!thread_.joinable()) return returned_->load();
    shutdown(socket_.get(), SHUT_RDWR);
    for (int waited = 0; waited < k_patience_ms && !returned_->load(); ++waited) {
      poll(nullptr, 0, 1);
    }
    if (!returned_->load()) {
      thread_.detach();
      return false;
    }
    thread_.join();
    return true;
  }

 private:
  std::shared_ptr<std::atomic<bool>> returned_;
  Fd socket_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Worker> start_worker_thread(int (*serve)(int socket)) {
  return std::make_unique<WorkerThread>(serve);
}

}  // namespace kbench
