// Objects of docs/results.md about clocks and launches. Judges nothing itself and writes no file.
#include "runner/json_circumstances.h"

#include <optional>
#include <string>

#include "core/stats.h"
#include "core/text.h"

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
          {"absent", clocks.absent.empty() ? Json(nullptr) : Json(to_valid_utf8(clocks.absent))}};
}

Json queued_json(const std::optional<QueuedFigures>& queued) {
  if (!queued) return nullptr;
  Json summary = nullptr;
  if (!queued->samples_ns.empty()) {
    const Summary figures = summarize(queued->samples_ns);
    summary = {{"runs", figures.runs},    {"mean", figures.mean}, {"std", figures.std},
               {"err", figures.err},      {"best", figures.best}, {"worst", figures.worst},
               {"median", figures.median}};
  }
  return {{"held_by", to_string(queued->held_by)},
          {"reason", queued->reason.empty() ? Json(nullptr) : Json(to_valid_utf8(queued->reason))},
          {"delay_ns", queued->delay_ns},
          {"samples_ns", queued->samples_ns},
          {"summary_ns", summary}};
}

Json launch_costs_json(const LaunchCosts& costs) {
  const auto known = [](double ns) { return ns > 0 ? Json(ns) : Json(nullptr); };
  return {{"event_pair", known(costs.event_pair_ns)},
          {"empty_kernel", known(costs.empty_kernel_ns)},
          {"empty_kernel_idle", known(costs.empty_kernel_idle_ns)}};
}

}  // namespace kbench
