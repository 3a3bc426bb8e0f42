// Objects of docs/results.md about the device, its clocks and launches. Judges nothing itself and
// writes no file.
#include "runner/json_circumstances.h"

#include <optional>
#include <string>

#include "core/stats.h"
#include "core/text.h"
#include "runner/json_values.h"

namespace kbench {
namespace {

using Json = nlohmann::ordered_json;

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json state_json(const std::optional<ClockState>& state) {
  if (!state) return nullptr;
  Json reasons = nullptr;
  if (state->throttle_reasons) reasons = throttle_names(*state->throttle_reasons);
  return {{"sm_mhz", or_null(state->sm_mhz)},
          {"temperature_c", or_null(state->temperature_c)},
          {"power_w", or_null(state->power_w)},
          {"throttle_reasons", reasons}};
}

}  // namespace

Json clocks_json(const Clocks& clocks) {
  return {{"before", state_json(clocks.before)},
          {"after", state_json(clocks.after)},
          {"absent", json_text_or_null(clocks.absent)}};
}

Json queued_json(const std::optional<QueuedFigures>& queued) {
  if (!queued) return nullptr;
  std::optional<Summary> summary;
  if (!queued->samples_ns.empty()) summary = summarize(queued->samples_ns);
  return {{"held_by", to_string(queued->held_by)},
          {"reason", json_text_or_null(queued->reason)},
          {"delay_ns", queued->delay_ns},
          {"samples_ns", queued->samples_ns},
          {"summary_ns", summary_json(summary)}};
}

Json together_json(const std::optional<TogetherFigures>& figures) {
  if (!figures || figures->skew_ns.empty()) return nullptr;
  const auto list = [](const std::vector<double>& values) {
    return Json{{"samples_ns", values}, {"summary_ns", summary_json(summarize(values))}};
  };
  Json workers = Json::array();
  for (const TogetherFigures::Lane& lane : figures->lanes) {
    Json starts = Json::array();
    for (const StartBracket& start : lane.reply.starts) {
      starts.push_back({start.after_ns, start.before_ns});
    }
    Json worker = list(lane.reply.samples_ns);
    worker["place"] = lane.place;
    worker["starts_ns"] = starts;
    worker["clock_uncertainty_ns"] = lane.clock_uncertainty_ns;
    workers.push_back(worker);
  }
  Json skew = list(figures->skew_ns);
  skew["uncertainty_ns"] = figures->skew_uncertainty_ns;
  return {{"slowest", list(figures->slowest_ns)},
          {"mean", list(figures->mean_ns)},
          {"fastest", list(figures->fastest_ns)},
          {"start_skew", skew},
          {"workers", workers}};
}

Json launch_costs_json(const LaunchCosts& costs) {
  const auto known = [](double ns) { return ns > 0 ? Json(ns) : Json(nullptr); };
  return {{"event_pair", known(costs.event_pair_ns)},
          {"empty_kernel", known(costs.empty_kernel_ns)},
          {"empty_kernel_idle", known(costs.empty_kernel_idle_ns)}};
}

nlohmann::ordered_json device_json(const DeviceInfo& device) {
  Json libraries = Json::object();
  for (const auto& [name, version] : device.libraries)
    libraries[to_valid_utf8(name)] = to_valid_utf8(version);
  return {{"kind", to_string(device.kind)},
          {"index", device.index},
          {"name", to_valid_utf8(device.name)},
          {"uuid", to_valid_utf8(device.uuid)},
          {"capability", to_valid_utf8(device.capability)},
          {"driver", to_valid_utf8(device.driver)},
          {"runtime", to_valid_utf8(device.runtime)},
          {"libraries", libraries},
          {"memory_bytes", device.memory_bytes},
          {"free_bytes", device.free_bytes},
          {"cache_bytes", device.cache_bytes},
          {"flush_bytes", device.flush_bytes},
          {"multiprocessors", device.multiprocessors},
          {"clock", to_valid_utf8(device.clock)}};
}

}  // namespace kbench
