// What this machine's processor and memory are, read from /proc, /sys and the BLAS library.
#pragma once

#include <cstdint>
#include <string>

#include "core/message.h"

namespace kbench::host {

struct Memory {
  std::int64_t total_bytes = 0;  ///< of the machine, or the control group's limit where lower
  std::int64_t free_bytes = 0;   ///< what may be allocated without swapping or being killed
};

/// Reads <root>/proc/meminfo and the memory control group (v2 or v1) of this process under
/// <root>/sys/fs/cgroup. `root` is empty but in tests. Throws DeviceError without /proc/meminfo.
Memory read_memory(const std::string& root = "");

/// The first model name in <root>/proc/cpuinfo, or `CPU` where the kernel names none.
std::string read_cpu_model(const std::string& root = "");

/// Size of the highest-level cache of CPU 0 under <root>/sys, 0 where it is not told.
std::int64_t read_last_level_cache(const std::string& root = "");

/// Everything of the host device but what changes. flush_bytes is twice the last-level cache.
DeviceInfo describe_host();

}  // namespace kbench::host
