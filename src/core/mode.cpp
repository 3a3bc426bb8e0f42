// The table of modes. Must not know how a mode is run; every difference between modes is a column.
#include "core/mode.h"

#include <array>

namespace kbench {
namespace {

// id, name, tests?, first case only?, measures?, warm-up, its limits, limits, stop after a failure?
constexpr std::array<Mode, 5> k_modes{{
    {ModeId::test, "test", true, false, false, WarmUp::none, {}, {1, 0}, false},
    {ModeId::benchmark,
     "benchmark",
     false,
     false,
     true,
     WarmUp::first_case,
     {200, 1e8},
     {200, 1e10},
     false},
    {ModeId::leaderboard,
     "leaderboard",
     false,
     false,
     true,
     WarmUp::every_case,
     {1000, 5e8},
     {1000, 3e10},
     true},
    {ModeId::profile, "profile", false, true, false, WarmUp::none, {}, {1, 0}, true},
    {ModeId::trace, "trace", false, false, false, WarmUp::none, {}, {1, 0}, false},
}};

}  // namespace

std::span<const Mode> modes() { return k_modes; }

const Mode* find_mode(std::string_view name) {
  for (const Mode& mode : k_modes) {
    if (mode.name == name) return &mode;
  }
  return nullptr;
}

}  // namespace kbench
