// What results say about the machine, and which profiler holds this process.
#pragma once

#include <cstdint>
#include <string>

namespace kbench {

struct MachineInfo {
  std::string hostname;
  std::string os;      ///< PRETTY_NAME of /etc/os-release
  std::string kernel;  ///< release of the running kernel
  std::string cpu;     ///< model name
  int cores = 0;       ///< usable by this process
  std::int64_t memory_bytes = 0;
};

MachineInfo describe_machine();

/// `nsys`, `ncu`, ... (core/profilers.h) when a variable of theirs is in the environment, else
/// empty.
std::string detect_profiler();

/// Now, as ISO 8601 in UTC with seconds.
std::string utc_now();

}  // namespace kbench
