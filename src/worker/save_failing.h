// Saved arrays of a failed case.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "device/device.h"
#include "device/ops.h"
#include "problems/problem.h"

namespace kbench {

/// Writes `<folder>/<stem>.A.npy` and one file per output (`<stem>.H.npy`, ...): matrices row-major
/// as the checker sees them, whatever `layout` the kernel wrote. Makes the folder. Returns the
/// common part of the paths. Throws Error(case_failed) when a file cannot be written.
std::string save_failing(Device& device, const Problem& problem, const Case& spec,
                         const std::string& folder, const std::string& stem, const float* input,
                         std::span<const float* const> outputs, Layout layout);

}  // namespace kbench
