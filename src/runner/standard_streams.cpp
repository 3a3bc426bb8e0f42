// Puts outlets below the C library's two streams, so that whoever prints need not know of them.
// The only code that replaces `stdout` and `stderr`.
#include "runner/standard_streams.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>

#include "runner/say.h"

namespace kbench {
namespace {

using Clock = std::chrono::steady_clock;

/// Below one C stream of ours. Neither is ever closed: a library in this process, such as a
/// profiler's, may have kept the stream and flush it at exit.
struct Sink {
  Outlet* outlet;  // null: straight to the descriptor
  int fd;
  std::FILE* stream;
};
Sink out_sink{nullptr, STDOUT_FILENO, nullptr}, err_sink{nullptr, STDERR_FILENO, nullptr};

ssize_t put_into_sink(void* at, const char* bytes, std::size_t size) {
  const Sink& sink = *static_cast<Sink*>(at);
  if (sink.outlet == nullptr) return std::max<ssize_t>(write(sink.fd, bytes, size), 0);
  sink.outlet->put({bytes, size});
  return static_cast<ssize_t>(size);
}

/// A C stream that writes into `outlet`; `plain` where the C library has no memory for one.
std::FILE* stream_over(Sink& sink, Outlet& outlet, std::FILE* plain, int buffering) {
  if (sink.stream == nullptr) {
    cookie_io_functions_t functions{};
    functions.write = put_into_sink;
    sink.stream = fopencookie(&sink, "w", functions);
    if (sink.stream == nullptr) return plain;
    std::setvbuf(sink.stream, nullptr, buffering, BUFSIZ);
  }
  sink.outlet = &outlet;
  return sink.stream;
}

void give_back(Sink& sink, std::FILE*& stream, std::FILE* before) {
  if (stream == before) return;
  std::fflush(stream);
  sink.outlet = nullptr;
  stream = before;
}

}  // namespace

StandardStreams::StandardStreams()
    : out_(STDOUT_FILENO), err_(STDERR_FILENO), before_out_(stdout), before_err_(stderr) {
  stdout = stream_over(out_sink, out_, before_out_, _IOFBF);
  stderr = stream_over(err_sink, err_, before_err_, _IONBF);
}

StandardStreams::~StandardStreams() {
  give_back(out_sink, stdout, before_out_);
  give_back(err_sink, stderr, before_err_);
}

void StandardStreams::finish(double patience_s, Watch* watch) {
  constexpr double k_last_s = 1;
  std::fflush(stdout);
  Clock::time_point progress = Clock::now();
  while (out_.held() + err_.held() > 0) {
    const bool out_went = out_.pump(), err_went = err_.pump();
    if (out_went || err_went) progress = Clock::now();
    const bool stops = watch != nullptr && watch->must_stop();
    const std::chrono::duration<double> limit(stops ? std::min(patience_s, k_last_s) : patience_s);
    const std::chrono::duration<double> left = progress + limit - Clock::now();
    if (left.count() <= 0) break;
    std::array<pollfd, 3> entries = {{{out_.held() > 0 ? out_.fd() : -1, POLLOUT, 0},
                                      {err_.held() > 0 ? err_.fd() : -1, POLLOUT, 0},
                                      {watch != nullptr ? watch->signal_fd() : -1, POLLIN, 0}}};
    // Short, as the run's time limit may pass meanwhile.
    poll(entries.data(), entries.size(), static_cast<int>(std::min(1e3 * left.count(), 100.0)) + 1);
  }
  out_.discard();
  if (out_.left_out() > 0) {
    say(
        fmt::format("{} lines of stdout are left out (nobody read them in time); read stdout, or "
                    "take the results from `--json`",
                    out_.left_out()));
  }
  if (lost_stdout() && !told_of_loss_) {
    say(fmt::format("cannot write to stdout ({}); send it where there is room",
                    std::strerror(out_.error())));
    told_of_loss_ = true;
  }
  err_.discard();
}

bool StandardStreams::lost_stdout() const { return out_.error() != 0 && out_.error() != EPIPE; }

}  // namespace kbench
