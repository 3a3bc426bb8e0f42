// What two readings of a GPU's clocks mean for the figures between them.
#include "core/clocks.h"

#include "catch.h"

using namespace kbench;

namespace {

ClockState state(std::int64_t sm_mhz, std::uint64_t reasons = 0) {
  return ClockState{sm_mhz, 60, 512.4, reasons};
}

}  // namespace

TEST_CASE("reasons to throttle are told by name and unknown ones by number") {
  using Names = std::vector<std::string>;
  CHECK(throttle_names(0) == Names{});
  CHECK(throttle_names(0x5) == Names{"gpu_idle", "sw_power_cap"});
  CHECK(throttle_names(0x60) == Names{"sw_thermal_slowdown", "hw_thermal_slowdown"});
  CHECK(throttle_names(0x10008) == Names{"hw_slowdown", "0x10000"});
}

TEST_CASE("a clock that moves by more than 2 % and heat are worth a warning, nothing else is") {
  struct Row {
    std::optional<ClockState> before, after;
    std::vector<std::string> begins;
  };
  const std::string moved = "the SM clock moved by ";
  const std::string heat = "the GPU throttles because of heat (";
  const std::vector<Row> rows = {
      {state(1980), state(1980), {}},
      {state(1980), state(1941), {}},
      {state(1980), state(1935), {moved + "-2.3 % during the timed repeats (1980 to 1935 MHz"}},
      {state(345), state(1980), {moved + "+473.9 %"}},
      {state(1980), state(1980, 0x5), {}},
      {state(1980), state(1980, 0x20), {heat + "sw_thermal_slowdown, 60 C, 512 W)"}},
      {state(1980, 0x40), state(1980), {heat + "hw_thermal_slowdown"}},
      {state(1980), state(990, 0xC), {moved + "-50.0 %", heat + "hw_slowdown"}},
      {std::nullopt, std::nullopt, {}},
      {ClockState{}, ClockState{}, {}},
      {state(0), state(1980), {}},
  };
  for (const Row& row : rows) {
    Clocks clocks;
    clocks.before = row.before;
    clocks.after = row.after;
    const std::vector<std::string> warnings = clock_warnings(clocks);
    CAPTURE(warnings);
    REQUIRE(warnings.size() == row.begins.size());
    for (std::size_t i = 0; i < warnings.size(); ++i) {
      CHECK_THAT(warnings[i], StartsWith(row.begins[i]));
    }
  }
}
