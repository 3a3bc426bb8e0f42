// The one table that names the default kernel per problem and device, and where shipped files lie.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/message.h"

namespace kbench {

/// Name of the default kernel, or empty when the problem has none on that device.
std::string_view default_kernel(std::string_view problem, DeviceKind device);

}  // namespace kbench
