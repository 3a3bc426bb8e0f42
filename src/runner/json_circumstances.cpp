// Objects of docs/results.md about clocks. Judges nothing itself and writes no file.
#include "runner/json_circumstances.h"

#include <optional>
#include <string>

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
          {"absent", clocks.absent.empty() ? Json(nullptr) : Json(to_valid_utf8(clocks.absent))},
          {"warnings", clock_warnings(clocks)}};
}

}  // namespace kbench
