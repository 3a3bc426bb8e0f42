// Bounded, non-blocking output to a descriptor of any kind. Knows lines and descriptors; does not
// know what is written.
#include "runner/outlet.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace kbench {
namespace {

/// A pipe takes so much in one piece or not at all, so that a line is not cut.
constexpr std::size_t k_page = 4096;
constexpr std::size_t k_worth_moving = std::size_t{1} << 20;

/// The start of `text` that is written next: whole lines where a page holds one.
std::string_view next_piece(std::string_view text) {
  if (text.size() <= k_page) return text;
  const std::size_t end = text.rfind('\n', k_page - 1);
  return text.substr(0, end == std::string_view::npos ? k_page : end + 1);
}

}  // namespace

Outlet::Outlet(int fd) : fd_(fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return;
  if (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode)) {
    kind_ = Kind::file;
  } else if (S_ISSOCK(status.st_mode)) {
    kind_ = Kind::socket;
  } else {
    const std::string path = fmt::format("/proc/self/fd/{}", fd);
    own_ = Fd(open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (own_) kind_ = Kind::own;
  }
}

void Outlet::put(std::string_view bytes) {
  pump();
  while (!bytes.empty() && !is_gone()) {
    const std::size_t end = bytes.find('\n');
    const bool ends = end != std::string_view::npos;
    const std::string_view part = bytes.substr(0, ends ? end + 1 : bytes.size());
    if (line_begins_) keeps_line_ = may_begin_line();
    // A line that never ends, such as that of the progress, is bounded as well.
    if (keeps_line_ && held() < 2 * k_room) held_ += part;
    if (!keeps_line_ && ends) ++left_out_;
    line_begins_ = ends;
    bytes.remove_prefix(part.size());
  }
  pump();
}

/// Once lines are left out, the next one that is kept comes after all that was held.
bool Outlet::may_begin_line() {
  if (left_out_ == told_) return held() < k_room;
  if (held() > 0) return false;
  held_ += fmt::format("... {} lines left out (nobody read them in time)\n", left_out_ - told_);
  told_ = left_out_;
  return true;
}

bool Outlet::pump() {
  bool went = false;
  while (held() > 0) {
    const long count = write_some(next_piece(std::string_view(held_).substr(begin_)));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK) error_ = errno;
    if (count < 0) break;
    begin_ += static_cast<std::size_t>(count);
    went = true;
  }
  if (is_gone() || held() == 0 || begin_ > k_worth_moving) {
    held_.erase(0, is_gone() ? held_.size() : begin_);
    begin_ = 0;
  }
  return went;
}

void Outlet::discard() {
  left_out_ += std::count(held_.begin() + static_cast<std::ptrdiff_t>(begin_), held_.end(), '\n');
  held_.clear();
  begin_ = 0;
}

long Outlet::write_some(std::string_view piece) const {
  if (kind_ == Kind::file) return ::write(fd_, piece.data(), piece.size());
  if (kind_ == Kind::own) return ::write(own_.get(), piece.data(), piece.size());
  if (kind_ == Kind::socket) {
    return ::send(fd_, piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  // A descriptor that cannot be opened again: a writable pipe has room for a page.
  pollfd entry{fd_, POLLOUT, 0};
  if (poll(&entry, 1, 0) <= 0) {
    errno = EAGAIN;
    return -1;
  }
  return ::write(fd_, piece.data(), piece.size());
}

}  // namespace kbench
