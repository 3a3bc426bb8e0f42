// One line on stderr.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "runner/terminal.h"

namespace kbench {

/// Writes `line` and a newline to stderr in one piece; on a terminal over the progress line, if one
/// stands there. A stderr that is gone is no error.
inline void say(std::string_view line) {
  std::string text = is_terminal(STDERR_FILENO) ? "\r\x1b[K" : "";
  text.append(line).append("\n");
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace kbench
