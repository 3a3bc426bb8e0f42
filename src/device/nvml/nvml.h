// Clocks, temperature and power of one GPU by NVML, the driver's management library, found at run
// time. Its absence is no error.
#pragma once

#include <memory>
#include <string>

#include "core/clocks.h"

namespace kbench::nvml {

constexpr const char* k_library = "libnvidia-ml.so.1";

/// One GPU. Asks and never sets anything.
class Gpu {
 public:
  virtual ~Gpu() = default;
  /// Now. Takes up to a few milliseconds; a figure that NVML refuses is absent.
  virtual ClockState read() = 0;
};

/// The GPU with `uuid` (`GPU-01234567-...`) by the library at `path`. Null with `why` in words when
/// there is no such library, it is no NVML, or it knows no such GPU.
std::unique_ptr<Gpu> open(const std::string& path, const std::string& uuid, std::string& why);

}  // namespace kbench::nvml
