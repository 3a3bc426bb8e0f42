// The list of files that a compiler read, as -MMD writes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kbench {

/// Paths of the prerequisites of the only rule in `text`, in order, unescaped. GCC doubles a `$`
/// and nvcc does not: a doubled one is left as it is.
std::vector<std::string> parse_depfile(std::string_view text);

}  // namespace kbench
