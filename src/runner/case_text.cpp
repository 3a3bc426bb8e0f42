// Reads what a user names as FILE and never hangs at it, whatever it is. Does not know what a case
// looks like.
#include "runner/case_text.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/text.h"
#include "runner/fd.h"

namespace kbench {
namespace {

constexpr std::size_t k_most_bytes = std::size_t{64} << 20;
constexpr int k_poll_ms = 100;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ExitCode::case_file,
              fmt::format("{}:1:1: cannot read the case file ({}); check the path, name a file of "
                          "case lines",
                          to_one_line(path), why));
}

bool names_own_descriptor(const std::string& path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

void check_kind(int fd, const std::string& path) {
  struct stat status {};
  fstat(fd, &status);
  if (S_ISDIR(status.st_mode)) refuse(path, "it is a folder");
  if (S_ISREG(status.st_mode) || (S_ISFIFO(status.st_mode) && names_own_descriptor(path))) return;
  refuse(path, "it is no regular file");
}

}  // namespace

std::string read_case_text(const std::string& path, const std::function<bool()>& cancelled) {
  // Non-blocking, as opening a pipe waits for its other end.
  const Fd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) refuse(path, std::strerror(errno));
  check_kind(fd.get(), path);
  std::string text;
  std::array<char, 65536> bytes;
  for (;;) {
    const ssize_t count = ::read(fd.get(), bytes.data(), bytes.size());
    if (count == 0) return text;
    if (count > 0) text.append(bytes.data(), static_cast<std::size_t>(count));
    if (text.size() > k_most_bytes) refuse(path, "it has more than 64 MiB");
    if (cancelled && cancelled()) refuse(path, "the run was stopped before its end came");
    if (count > 0 || errno == EINTR) continue;
    if (errno != EAGAIN) refuse(path, std::strerror(errno));
    pollfd entry{fd.get(), POLLIN, 0};
    poll(&entry, 1, k_poll_ms);
  }
}

}  // namespace kbench
