// The part of the results document about the circumstances of a measurement: what the machine did
// meanwhile and what it charges for anything.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "core/clocks.h"
#include "core/launch.h"
#include "core/message.h"
#include "runner/together_figures.h"

namespace kbench {

nlohmann::ordered_json device_json(const DeviceInfo& device);
nlohmann::ordered_json clocks_json(const Clocks& clocks);
/// null without `queued`.
nlohmann::ordered_json queued_json(const std::optional<QueuedFigures>& queued);
/// null without `--together`.
nlohmann::ordered_json together_json(const std::optional<TogetherFigures>& figures);
nlohmann::ordered_json launch_costs_json(const LaunchCosts& costs);

}  // namespace kbench
