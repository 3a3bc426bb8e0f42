// A kernel plug-in: a shared object with one descriptor, checked before anything of it is called.
#pragma once

#include <string>

#include "core/message.h"
#include "device/ops.h"
#include "kbench_kernel.h"

namespace kbench {

/// A loaded plug-in. It is never unloaded: its library may have started threads. A process loads
/// one at most, since inline statics are shared between shared objects even with RTLD_LOCAL.
class KernelPlugin {
 public:
  /// Loads `path` (relative to the current folder, never searched for) with the floating-point
  /// environment of the caller kept. Throws Error(usage) when the file cannot be loaded, has no
  /// descriptor, was built for another ABI version, or lacks a required field.
  explicit KernelPlugin(const std::string& path);

  const kbench_kernel& kernel() const { return *kernel_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  const kbench_kernel* kernel_ = nullptr;
};

/// Throws Error(usage) naming `path` where a descriptor does not keep to the ABI. Reads nothing
/// behind `abi_version` before that has been found right.
void check_descriptor(const kbench_kernel& kernel, const std::string& path);

/// Throws Error(usage) when the kernel is for another problem or another kind of device.
void check_match(const kbench_kernel& kernel, const std::string& problem, DeviceKind device);

KernelInfo describe(const kbench_kernel& kernel, const std::string& path);
DeviceKind device_kind(const kbench_kernel& kernel);
Layout output_layout(const kbench_kernel& kernel);

}  // namespace kbench
