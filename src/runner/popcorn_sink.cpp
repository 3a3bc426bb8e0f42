// The only writer of the result descriptor. Knows pipes and their capacity; does not know what a
// result line means.
#include "runner/popcorn_sink.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>

#include "core/error.h"

namespace kbench {
namespace {

// A write that does not fit into the last page of a pipe starts a new one and wastes the rest. With
// pieces of at most a quarter of a page at most a quarter of the capacity is lost that way.
constexpr std::size_t k_page = 4096;
constexpr std::size_t k_piece = k_page / 4;
constexpr std::size_t k_worth_moving = std::size_t{1} << 20;
constexpr std::size_t k_wanted_capacity = std::size_t{1} << 20;

}  // namespace

PopcornSink::PopcornSink(Fd fd) : fd_(std::move(fd)) {
  struct stat status {};
  is_pipe_ = fstat(fd_.get(), &status) == 0 && S_ISFIFO(status.st_mode);
  if (!is_pipe_) return;
  const int before = fcntl(fd_.get(), F_GETPIPE_SZ);
  if (before >= 0 && static_cast<std::size_t>(before) < k_wanted_capacity) {
    fcntl(fd_.get(), F_SETPIPE_SZ, static_cast<int>(k_wanted_capacity));
  }
  const int size = fcntl(fd_.get(), F_GETPIPE_SZ);
  capacity_ = size > 0 ? static_cast<std::size_t>(size) : 16 * k_page;
}

std::size_t PopcornSink::room() const {
  const std::size_t free = free_bytes();
  return free > held() ? free - held() : 0;
}

std::size_t PopcornSink::free_bytes() const {
  if (!is_pipe_) return std::numeric_limits<std::size_t>::max() / 2;
  int unread = 0;
  if (ioctl(fd_.get(), FIONREAD, &unread) != 0 || unread < 0) return 0;
  const std::size_t usable = capacity_ / 4 * 3;
  const std::size_t taken = static_cast<std::size_t>(unread) + k_page;
  return usable > taken ? usable - taken : 0;
}

bool PopcornSink::writable(int timeout_ms) const {
  pollfd entry{fd_.get(), POLLOUT, 0};
  return poll(&entry, 1, timeout_ms) > 0 && (entry.revents & (POLLOUT | POLLERR)) != 0;
}

std::size_t PopcornSink::put(std::string_view bytes) {
  std::size_t written = 0;
  while (written < bytes.size()) {
    // A writable pipe takes a whole piece at once: a free page is what the kernel calls writable.
    if (!writable(0)) break;
    const ssize_t count = ::write(fd_.get(), bytes.data() + written, bytes.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != EAGAIN) {
      failure_ = errno == EPIPE ? "its reader is gone" : std::strerror(errno);
    }
    if (count < 0) break;
    written += static_cast<std::size_t>(count);
  }
  return written;
}

void PopcornSink::drain() {
  while (held() > 0 && failure_.empty()) {
    const std::string_view piece = std::string_view(held_).substr(begin_, k_piece);
    const std::size_t written = free_bytes() < piece.size() ? 0 : put(piece);
    begin_ += written;
    if (written < piece.size()) break;
  }
  // Thousands of cases may be held: what is written is moved away seldom.
  if (held() == 0 || begin_ > k_worth_moving) {
    held_.erase(0, begin_);
    begin_ = 0;
  }
}

void PopcornSink::write(std::string_view lines) {
  held_ += lines;
  drain();
}

void PopcornSink::finish(std::string_view verdict) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(1);
  for (drain(); held() > 0 && failure_.empty() && Clock::now() < deadline; drain()) {
    poll(nullptr, 0, 10);
  }
  const std::size_t missing = held();
  // Incomplete lines must not end in a verdict that looks complete.
  const std::string_view last = missing == 0 ? verdict : "\ncheck: fail\n";
  if (failure_.empty() && put(last) < last.size() && failure_.empty()) {
    failure_ = "the pipe is full and nobody reads it";
  }
  if (!failure_.empty()) {
    throw Error(ExitCode::popcorn_fd,
                fmt::format("the verdict could not be written to POPCORN_FD ({}); let the caller "
                            "read the pipe or give it a larger one",
                            failure_));
  }
  if (missing != 0) {
    throw Error(
        ExitCode::popcorn_fd,
        fmt::format("{} bytes of results did not fit into the pipe of POPCORN_FD ({} bytes, "
                    "not read in time); run fewer cases with `--only` or read the pipe",
                    missing, capacity_));
  }
}

}  // namespace kbench
