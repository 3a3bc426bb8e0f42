// The kinds of cache flush as device calls.
#pragma once

#include "core/flush.h"
#include "device/device.h"

namespace kbench {

/// Enqueues the flush in front of a call, or of a repeat for Flush::once. Nothing for Flush::none.
void flush_cache(Device& device, Flush flush);

}  // namespace kbench
