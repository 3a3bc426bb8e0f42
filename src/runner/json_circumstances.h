// The part of the results document about the circumstances of a measurement: what the machine did
// meanwhile and what it charges for anything.
#pragma once

#include <nlohmann/json.hpp>

#include "core/clocks.h"
#include "core/message.h"

namespace kbench {

nlohmann::ordered_json device_json(const DeviceInfo& device);
nlohmann::ordered_json clocks_json(const Clocks& clocks);

}  // namespace kbench
