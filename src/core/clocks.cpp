// Judges two readings of a GPU's clocks. Must not know where a reading comes from (NVML) nor where
// a warning goes.
#include "core/clocks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>

namespace kbench {
namespace {

struct Reason {
  std::uint64_t bit;
  const char* name;
  bool thermal;
};

// nvmlClocksEventReasons. `hw_slowdown` is heat or the power brake; it halves the clock or worse.
constexpr std::array<Reason, 9> k_reasons{{
    {0x001, "gpu_idle", false},
    {0x002, "applications_clocks_setting", false},
    {0x004, "sw_power_cap", false},
    {0x008, "hw_slowdown", true},
    {0x010, "sync_boost", false},
    {0x020, "sw_thermal_slowdown", true},
    {0x040, "hw_thermal_slowdown", true},
    {0x080, "hw_power_brake_slowdown", false},
    {0x100, "display_clock_setting", false},
}};

constexpr double k_clock_tolerance = 0.02;

std::uint64_t thermal_bits() {
  std::uint64_t bits = 0;
  for (const Reason& reason : k_reasons) bits |= reason.thermal ? reason.bit : 0;
  return bits;
}

/// `, 71 C, 693 W`, as far as they are known.
std::string heat_and_power(const ClockState& state) {
  std::string text;
  if (state.temperature_c) text += fmt::format(", {} C", *state.temperature_c);
  if (state.power_w) text += fmt::format(", {:.0f} W", *state.power_w);
  return text;
}

}  // namespace

std::vector<std::string> throttle_names(std::uint64_t reasons) {
  std::vector<std::string> names;
  for (const Reason& reason : k_reasons) {
    if ((reasons & reason.bit) != 0) names.emplace_back(reason.name);
    reasons &= ~reason.bit;
  }
  if (reasons != 0) names.push_back(fmt::format("{:#x}", reasons));
  return names;
}

std::vector<std::string> clock_warnings(const Clocks& clocks) {
  std::vector<std::string> warnings;
  if (!clocks.before || !clocks.after) return warnings;
  const ClockState& before = *clocks.before;
  const ClockState& after = *clocks.after;
  if (before.sm_mhz && after.sm_mhz && *before.sm_mhz > 0) {
    const double from = static_cast<double>(*before.sm_mhz);
    const double moved = (static_cast<double>(*after.sm_mhz) - from) / from;
    if (std::abs(moved) > k_clock_tolerance) {
      warnings.push_back(fmt::format(
          "the SM clock moved by {:+.1f} % during the timed repeats ({} to {} MHz{}); warm up "
          "longer, cool down between cases, or lock the clock (`nvidia-smi -lgc`)",
          100 * moved, *before.sm_mhz, *after.sm_mhz, heat_and_power(after)));
    }
  }
  const std::uint64_t seen =
      before.throttle_reasons.value_or(0) | after.throttle_reasons.value_or(0);
  if ((seen & thermal_bits()) != 0) {
    warnings.push_back(fmt::format(
        "the GPU throttles because of heat ({}{}); the figures are slower than those of a cool "
        "one, so cool it and repeat",
        fmt::join(throttle_names(seen & thermal_bits()), ", "), heat_and_power(after)));
  }
  return warnings;
}

}  // namespace kbench
