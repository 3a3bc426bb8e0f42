// How a mistake in a text file is shown: its position, and the line with a caret below.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kbench {

/// `file:line:column: what`, all on one line whatever the file is called. Line and column are
/// 1-based, columns count bytes.
std::string at_position(std::string_view file, int line, int column, std::string_view what);

/// Two lines, without a final newline: `text` and a caret below the character at byte `offset` (its
/// size: behind the end). Tabs become blanks, other control characters and invalid bytes U+FFFD, so
/// that one character is one column; only the neighbourhood of a long text is shown.
std::string excerpt(std::string_view text, std::size_t offset);

}  // namespace kbench
