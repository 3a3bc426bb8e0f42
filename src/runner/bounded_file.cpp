// Reads what a user names as a file and never hangs at it, whatever it is. Does not know what is in
// it or what it is for.
#include "runner/bounded_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "runner/fd.h"

namespace kbench {
namespace {

constexpr int k_poll_ms = 100;

bool names_own_descriptor(const std::string& path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

/// Files below /proc have no size, may have no end (`/proc/kmsg`), and some are used up by reading.
bool is_made_up(int fd) {
  struct statfs system {};
  return fstatfs(fd, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

void check_kind(const struct stat& status, const std::string& path) {
  if (S_ISDIR(status.st_mode)) throw Unreadable("it is a folder");
  if (S_ISREG(status.st_mode) || (S_ISFIFO(status.st_mode) && names_own_descriptor(path))) return;
  throw Unreadable("it is no regular file");
}

}  // namespace

std::string read_bounded(const std::string& path, std::size_t most_bytes,
                         const std::function<bool()>& cancelled) {
  // Non-blocking, as opening a pipe waits for its other end.
  const Fd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) throw Unreadable(std::strerror(errno));
  struct stat status {};
  fstat(fd.get(), &status);
  check_kind(status, path);
  if (is_made_up(fd.get())) throw Unreadable("it is made up by the kernel");
  std::string text;
  std::array<char, 65536> bytes;
  for (;;) {
    const ssize_t count = ::read(fd.get(), bytes.data(), bytes.size());
    if (count == 0) return text;
    if (count > 0) text.append(bytes.data(), static_cast<std::size_t>(count));
    if (text.size() > most_bytes) {
      throw Unreadable(fmt::format("it has more than {} MiB", most_bytes >> 20));
    }
    if (cancelled && cancelled()) throw Unreadable("the run was stopped before its end came");
    if (count > 0 || errno == EINTR) continue;
    if (errno != EAGAIN) throw Unreadable(std::strerror(errno));
    // A file that makes its reader wait is one of the kernel's as well, of tracing for one.
    if (S_ISREG(status.st_mode)) throw Unreadable("it has no end");
    pollfd entry{fd.get(), POLLIN, 0};
    poll(&entry, 1, k_poll_ms);
  }
}

}  // namespace kbench
