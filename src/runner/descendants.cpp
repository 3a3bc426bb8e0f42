// Walks /proc to end whole trees of processes. Used by the keeper and, should the keeper itself be
// killed, by the runner; knows neither of them.
#include "runner/descendants.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <string>
#include <string_view>

namespace kbench {
namespace {

/// Numeric entries of a folder of /proc.
std::vector<pid_t> numbers_in(const std::string& folder) {
  std::vector<pid_t> numbers;
  DIR* stream = opendir(folder.c_str());
  if (stream == nullptr) return numbers;
  while (const dirent* entry = readdir(stream)) {
    const std::string_view name = entry->d_name;
    pid_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
  }
  closedir(stream);
  return numbers;
}

/// Parent of a process from its stat line; the command's name may hold blanks and brackets.
pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t bracket = line.rfind(')');
  if (bracket == std::string::npos || bracket + 4 >= line.size()) return -1;
  pid_t parent = -1;
  std::from_chars(line.data() + bracket + 4, line.data() + line.size(), parent);
  return parent;
}

void kill_tree(pid_t process) {
  // Children first read, then the parent killed: afterwards they would belong to somebody else.
  const std::vector<pid_t> children = children_of(process);
  kill(process, SIGKILL);
  for (pid_t child : children) kill_tree(child);
}

}  // namespace

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  bool listed = false;
  for (pid_t task : numbers_in(tasks)) {
    std::ifstream file(tasks + "/" + std::to_string(task) + "/children");
    listed = listed || file.is_open();
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  if (listed || process != getpid()) return children;
  // Kernels built without these lists: ask every process for its parent.
  for (pid_t other : numbers_in("/proc")) {
    if (parent_of(other) == process) children.push_back(other);
  }
  return children;
}

bool end_descendants(const std::vector<pid_t>& spared, int timeout_ms) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    std::vector<pid_t> left = children_of(getpid());
    std::erase_if(left, [&](pid_t child) {
      return std::find(spared.begin(), spared.end(), child) != spared.end();
    });
    if (left.empty()) return true;
    for (pid_t child : left) kill_tree(child);
    for (pid_t child : left) waitpid(child, nullptr, WNOHANG);
    if (Clock::now() >= deadline) return false;
    poll(nullptr, 0, 1);
  }
}

}  // namespace kbench
