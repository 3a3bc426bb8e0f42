// What is done to the cache in front of the calls of a repeat.
#pragma once

#include <string_view>

namespace kbench {

enum class Flush {
  once,   ///< `public`: overwritten once a repeat, as the public evaluator does; dirty lines remain
  cold,   ///< overwritten before every call; dirty lines remain
  clean,  ///< as cold, then read through, so that no dirty line remains
  none    ///< left as the calls before left it
};
std::string_view to_string(Flush flush);

/// Parses `public`, `cold`, `clean`, `none`. Throws Error(usage) with did-you-mean.
Flush parse_flush(std::string_view text);

}  // namespace kbench
