// What a GPU says of its clocks, heat and power, and what follows for a measurement between two
// such answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kbench {

/// One answer. A figure that the GPU does not tell is absent.
struct ClockState {
  std::optional<std::int64_t> sm_mhz;
  std::optional<std::int64_t> temperature_c;
  std::optional<double> power_w;
  std::optional<std::uint64_t> throttle_reasons;  ///< bits as NVML names them
};

/// Around the timed repeats of a case. Both are absent where there is nothing to ask: `absent` then
/// says why, unless the device is one that has no such state.
struct Clocks {
  std::optional<ClockState> before, after;
  std::string absent;
};

/// Names of the reasons that are set, such as `sw_thermal_slowdown`; unknown bits as one `0x...`.
std::vector<std::string> throttle_names(std::uint64_t reasons);

/// What a reader of the figures must know: an SM clock that moved by more than 2 %, and every
/// reason to throttle that has to do with heat. One sentence each, with the likely cause and what
/// to do.
std::vector<std::string> clock_warnings(const Clocks& clocks);

}  // namespace kbench
