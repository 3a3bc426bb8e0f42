// Reads the machine's own description of itself. Must not know Device or Ops.
#include "device/host/host_info.h"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "device/device.h"
#include "device/host/parallel.h"

namespace kbench::host {
namespace {

// Where /sys names no cache (some virtual machines): large enough for the usual ones. flush_bytes
// in the results shows what was used, and cache_bytes stays 0.
constexpr std::int64_t k_flush_bytes_of_unknown_cache = std::int64_t{64} << 20;

std::optional<std::int64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;  // absent, or `max`
}

// Value of the line `<key> <number>` or `<key>: <number> kB` (the unit is left to the caller).
std::optional<std::int64_t> read_field(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    std::int64_t value = 0;
    if (words >> name >> value && (name == key || name == key + ":")) return value;
  }
  return std::nullopt;
}

// Path of this process in the v2 hierarchy (controller ``) or in that of a v1 controller.
std::optional<std::string> cgroup_path(const std::string& root, const std::string& controller) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (("," + controllers + ",").find("," + controller + ",") != std::string::npos &&
        controllers.empty() == controller.empty()) {
      return line.substr(second + 1);
    }
  }
  return std::nullopt;
}

struct CgroupFiles {
  std::string mount, controller, limit, usage, reclaimable;
};

// Page cache of the group counts as usage but gives way to allocations.
void apply_limit(const std::string& root, const CgroupFiles& files, Memory& memory) {
  const auto path = cgroup_path(root, files.controller);
  if (!path) return;
  // Inside a container the group's own folder is often mounted as the root of the hierarchy.
  for (const std::string& below : {*path, std::string()}) {
    const std::string folder = root + files.mount + below + "/";
    const auto limit = read_number(folder + files.limit);
    if (!limit) continue;
    const std::int64_t usage = read_number(folder + files.usage).value_or(0);
    const std::int64_t cache = read_field(folder + "memory.stat", files.reclaimable).value_or(0);
    memory.total_bytes = std::min(memory.total_bytes, *limit);
    memory.free_bytes = std::clamp<std::int64_t>(*limit - usage + cache, 0, memory.free_bytes);
  }
}

}  // namespace

Memory read_memory(const std::string& root) {
  const std::string meminfo = root + "/proc/meminfo";
  const auto total = read_field(meminfo, "MemTotal");
  const auto available = read_field(meminfo, "MemAvailable");
  if (!total || !available) {
    throw DeviceError(fmt::format("free memory is unknown (`{}` lacks MemTotal or MemAvailable); "
                                  "mount /proc",
                                  meminfo),
                      false);
  }
  Memory memory{*total * 1024, *available * 1024};
  apply_limit(root, {"/sys/fs/cgroup", "", "memory.max", "memory.current", "inactive_file"},
              memory);
  apply_limit(root,
              {"/sys/fs/cgroup/memory", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
               "total_inactive_file"},
              memory);
  return memory;
}

std::string read_cpu_model(const std::string& root) {
  std::ifstream file(root + "/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const auto colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "CPU";
}

std::int64_t read_last_level_cache(const std::string& root) {
  std::int64_t best_level = 0, bytes = 0;
  for (int index = 0;; ++index) {
    const std::string folder =
        fmt::format("{}/sys/devices/system/cpu/cpu0/cache/index{}/", root, index);
    const auto level = read_number(folder + "level");
    if (!level) return bytes;
    std::ifstream file(folder + "size");
    std::int64_t size = 0;
    char unit = 0;
    if (!(file >> size) || *level < best_level) continue;
    file >> unit;
    best_level = *level;
    bytes = unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
  }
}

DeviceInfo describe_host() {
  const Memory memory = read_memory();
  DeviceInfo info;
  info.kind = DeviceKind::host;
  info.name = read_cpu_model();
  info.runtime = openblas_get_config();
  info.libraries = {{"openblas", info.runtime}};
  info.memory_bytes = memory.total_bytes;
  info.free_bytes = memory.free_bytes;
  info.cache_bytes = read_last_level_cache();
  info.flush_bytes = info.cache_bytes > 0 ? 2 * info.cache_bytes : k_flush_bytes_of_unknown_cache;
  info.multiprocessors = thread_count();
  info.clock = "steady_clock";
  return info;
}

}  // namespace kbench::host
