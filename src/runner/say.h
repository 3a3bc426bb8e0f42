// One line on stderr.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace kbench {

/// Writes `line` and a newline to stderr in one piece. A stderr that is gone is no error.
inline void say(std::string_view line) {
  const std::string text = std::string(line) + '\n';
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace kbench
