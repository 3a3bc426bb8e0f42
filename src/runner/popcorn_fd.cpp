// Takes the result descriptor from the environment and makes sure that only the popcorn reporter
// can reach it. Knows nothing of what is written there.
#include "runner/popcorn_fd.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "core/text.h"

namespace kbench {
namespace {

/// A number that nobody expects to be free.
constexpr int k_out_of_the_way = 10;

std::optional<std::string> take_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  std::string text = value;
  unsetenv(name);
  return text;
}

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw Error(ExitCode::popcorn_fd,
              fmt::format("`POPCORN_FD={}` is unusable ({}); pass the number of an inherited, "
                          "writable descriptor or unset the variable",
                          to_one_line(text), why));
}

int parse_descriptor(const std::string& text) {
  int value = -1;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty()) refuse(text, "it is empty");
  if (error != std::errc() || stop != end || value < 0) refuse(text, "not a descriptor number");
  return value;
}

bool same_stream(int a, int b) {
  struct stat x {
  }, y{};
  if (a == b) return true;
  if (fstat(a, &x) != 0 || fstat(b, &y) != 0) return false;
  const bool carries_lines = S_ISFIFO(x.st_mode) || S_ISREG(x.st_mode) || S_ISSOCK(x.st_mode);
  return carries_lines && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/// Points `standard` at `other`, or at /dev/null when that one carries the result lines too.
void divert(int standard, int other, int popcorn) {
  if (!same_stream(popcorn, other) && dup2(other, standard) >= 0) return;
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  dup2(null.get(), standard);
}

}  // namespace

Popcorn take_popcorn() {
  Popcorn popcorn;
  popcorn.seed = take_variable("POPCORN_SEED").value_or("");
  const std::optional<std::string> text = take_variable("POPCORN_FD");
  if (!text) return popcorn;
  int fd = parse_descriptor(*text);
  if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    const bool rank = std::getenv("OMPI_COMM_WORLD_RANK") != nullptr;
    refuse(*text,
           rank ? "not open; Open MPI closes all descriptors but 0 to 2 before a rank starts: "
                  "give `POPCORN_FD=1` and point mpirun's own stdout to the descriptor"
                : "not open");
  }
  const int access = fcntl(fd, F_GETFL) & O_ACCMODE;
  if (access != O_WRONLY && access != O_RDWR) refuse(*text, "open for reading only");
  const int named = fd;
  if (fd <= 2) {
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, k_out_of_the_way);
    // A limit of open files may leave no number so high.
    if (moved < 0) moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (moved < 0) refuse(*text, std::strerror(errno));
    if (fd == 0) close(0);
    fd = moved;
  }
  popcorn.fd.emplace(fd);
  if (named == 1 || same_stream(fd, 1)) divert(1, 2, fd);
  if (named == 2 || same_stream(fd, 2)) divert(2, 1, fd);
  return popcorn;
}

}  // namespace kbench
