// Reads the machine's description from /proc and /etc, and the traces that profilers leave in the
// environment. Must not touch a device: the runner has none.
#include "runner/machine.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string_view>

#include "core/profilers.h"

namespace kbench {
namespace {

/// Text after `key` and its separator in the first line that begins with `key`.
std::string value_of(const char* path, std::string_view key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!std::string_view(line).starts_with(key)) continue;
    const std::size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t\"", at + 1);
    if (begin == std::string::npos) return "";
    const std::size_t end = line.find_last_not_of(" \t\"");
    return line.substr(begin, end - begin + 1);
  }
  return "";
}

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

}  // namespace

MachineInfo describe_machine() {
  MachineInfo machine;
  utsname names{};
  if (uname(&names) == 0) {
    machine.hostname = names.nodename;
    machine.kernel = names.release;
  }
  machine.os = value_of("/etc/os-release", "PRETTY_NAME", '=');
  machine.cpu = value_of("/proc/cpuinfo", "model name", ':');
  machine.cores = usable_cores();
  machine.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  return machine;
}

std::string detect_profiler() {
  return find_profiler([](const char* name) { return std::getenv(name); }).tool;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return std::string(text.data(), size);
}

}  // namespace kbench
