// A file a device, locked with flock and holding one line about its holder. The lock belongs to the
// open file: no worker inherits it, and nothing has to be cleared away after a crash. Must not know
// what the device is used for.
#include "runner/device_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/text.h"
#include "runner/machine.h"

namespace kbench {
namespace {

constexpr std::size_t k_longest_command = 120;

/// Opens the file, made if need be. It is everybody's: the next holder may be another user. An
/// existing file is opened without O_CREAT, which systems refuse for other users' files in /tmp.
Fd open_file(const std::string& path) {
  constexpr int k_flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  constexpr int k_attempts = 3;  // the file may appear and go between two calls
  for (int attempt = 0; attempt < k_attempts; ++attempt) {
    Fd fd(open(path.c_str(), k_flags));
    if (fd || errno != ENOENT) return fd;
    fd = Fd(open(path.c_str(), k_flags | O_CREAT | O_EXCL, 0666));
    if (fd) fchmod(fd.get(), 0666);
    if (fd || errno != EEXIST) return fd;
  }
  return Fd();
}

std::string own_command() {
  std::ifstream file("/proc/self/cmdline");
  std::string text(std::istreambuf_iterator<char>(file), {});
  std::replace(text.begin(), text.end(), '\0', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return shorten(to_one_line(text), k_longest_command);
}

/// Not without a word: whoever waits wants to know whom to ask.
void write_holder(int fd) {
  const std::string line = fmt::format("process {} of user {} since {}: `{}`\n", getpid(), getuid(),
                                       utc_now(), own_command());
  if (ftruncate(fd, 0) != 0) return;
  // A full disk costs the next one the name, not the lock.
  static_cast<void>(pwrite(fd, line.data(), line.size(), 0) < 0);
}

std::string read_holder(int fd) {
  std::array<char, 1024> bytes;
  const ssize_t count = pread(fd, bytes.data(), bytes.size(), 0);
  std::string text(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  text = to_one_line(text.substr(0, text.find('\n')));
  return text.empty() ? "a process that left no name" : text;
}

}  // namespace

std::variant<DeviceLock, std::string> DeviceLock::take(const std::string& uuid,
                                                       const std::string& folder) {
  std::string name = uuid;
  std::replace(name.begin(), name.end(), '/', '_');
  const std::string path = fmt::format("{}/kbench-{}.lock", folder, name);
  Fd fd = open_file(path);
  if (!fd) {
    return fmt::format("cannot lock the device (`{}`: {}); put that right, or add `--no-lock`",
                       path, std::strerror(errno));
  }
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
    write_holder(fd.get());
    return DeviceLock(std::move(fd), uuid);
  }
  if (errno != EWOULDBLOCK) {
    return fmt::format("cannot lock the device (`{}`: {}); put that right, or add `--no-lock`",
                       path, std::strerror(errno));
  }
  return fmt::format(
      "device {} is taken by {}; wait for its end, take another device, or add `--no-lock` and get "
      "disturbed times",
      to_one_line(uuid), read_holder(fd.get()));
}

std::optional<std::string> DeviceLocks::take(const std::string& uuid) {
  for (const DeviceLock& lock : held_) {
    if (lock.uuid() == uuid) return std::nullopt;
  }
  auto taken = DeviceLock::take(uuid);
  if (auto* words = std::get_if<std::string>(&taken)) return std::move(*words);
  held_.push_back(std::get<DeviceLock>(std::move(taken)));
  return std::nullopt;
}

}  // namespace kbench
