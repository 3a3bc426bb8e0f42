// What a job will hold on its device, told without one.
#pragma once

#include "core/message.h"

namespace kbench {

/// Device bytes that kbench's arrays of the job take, the checker's scratch included and the flush
/// buffer and the plug-in's workspace left out. 0 for a problem without arrays of its own.
double job_memory(const Job& job);

}  // namespace kbench
