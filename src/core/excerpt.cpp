// Renders a position and the line it stands in. Must not know the grammar of the file.
#include "core/excerpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/text.h"

namespace kbench {
namespace {

constexpr std::size_t k_left = 60, k_width = 100;  // columns shown before the caret, and in all

std::string_view cell_of(std::string_view bytes, const CodePoint& c) {
  if (c.value == '\t') return " ";
  const bool control = c.value < 0x20 || (c.value >= 0x7F && c.value < 0xA0) || c.value == 0x2028 ||
                       c.value == 0x2029;
  return !c.valid || control ? "\xEF\xBF\xBD" : bytes.substr(0, c.bytes);
}

}  // namespace

std::string at_position(std::string_view file, int line, int column, std::string_view what) {
  return fmt::format("{}:{}:{}: {}", to_one_line(file), line, column, what);
}

std::string excerpt(std::string_view text, std::size_t offset) {
  std::vector<std::string_view> cells;
  std::size_t caret = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text.substr(at));
    cells.push_back(cell_of(text.substr(at), c));
    at += c.bytes;
    if (at <= offset) ++caret;
  }
  const std::size_t begin = caret > k_left ? caret - k_left : 0;
  const std::size_t end = std::min(cells.size(), begin + k_width);
  std::string line = begin > 0 ? "..." : "";
  const std::size_t indent = line.size() + (caret - begin);
  for (std::size_t i = begin; i < end; ++i) line += cells[i];
  if (end < cells.size()) line += "...";
  return fmt::format("  {}\n  {:>{}}", line, "^", indent + 1);
}

}  // namespace kbench
