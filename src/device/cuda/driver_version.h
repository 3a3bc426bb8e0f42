// The version of the installed NVIDIA driver.
#pragma once

#include <string>
#include <string_view>

namespace kbench::cuda {

/// First word of the form 1.2 or 1.2.3 in `text`, empty when there is none.
std::string first_version(std::string_view text);

/// `580.159.04` from the kernel module or NVML; where neither tells, the version of the CUDA driver
/// interface such as `13.0`.
std::string driver_version();

}  // namespace kbench::cuda
