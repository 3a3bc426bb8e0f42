// Which plug-in each case of a run is for.
#pragma once

#include <string>

#include "runner/record.h"
#include "runner/run_cases.h"

namespace kbench {

/// Path of the plug-in for a problem; empty when there is none, or only the device could tell which
/// and is not known.
std::string kernel_path(const Start& start, const RunRecord& record, const std::string& problem);

/// The kernel's name before the plug-in itself tells: that of the user's file.
std::string kernel_name(const Start& start, const std::string& path);

/// Names the kernel of every case. Throws Error(usage) when a problem has none.
void require_kernels(const Start& start, RunRecord& record);

}  // namespace kbench
