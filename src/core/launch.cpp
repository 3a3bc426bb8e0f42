// Names of the ways to hold launches back. Must not know how it is done.
#include "core/launch.h"

#include <array>

namespace kbench {

std::string_view to_string(HoldKind kind) {
  constexpr std::array<std::string_view, 3> k_names{"none", "hold", "delay"};
  return k_names[static_cast<std::size_t>(kind)];
}

}  // namespace kbench
