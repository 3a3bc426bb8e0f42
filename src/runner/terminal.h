// What a descriptor that people read can show: how wide it is, and whether it has colours.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace kbench {

/// --color
enum class ColorChoice { automatic, always, never };

struct TextStyle {
  std::size_t width = 0;  ///< characters in a line; 0: no limit
  bool color = false;
};

/// True for a terminal that moves its cursor (not `TERM=dumb`, not that of a rank of Open MPI).
bool is_terminal(int fd);

/// Style for text on `fd`. Colours: as chosen, else on a terminal unless NO_COLOR is set and not
/// empty. The width is the terminal's, COLUMNS where the terminal does not tell it.
TextStyle text_style(int fd, ColorChoice color);

enum class Paint { plain, bold, dim, red, green, yellow };
/// `text` in a colour where the style has any.
std::string paint(const TextStyle& style, Paint how, std::string_view text);

/// Characters that `text` takes on the screen: valid UTF-8 without the escapes of `paint`.
std::size_t width_of(std::string_view text);
std::string pad(std::string text, std::size_t width);
std::string pad_left(const std::string& text, std::size_t width);
/// Cells with two blanks between; one that would end beyond `width` (0: none does) begins a new
/// line, indented by `indent`. The first line begins at that column too.
std::string flow(std::span<const std::string> cells, std::size_t indent, std::size_t width);
/// Breaks at blanks so that each line, the first at column `indent`, ends before `width`; later
/// lines are indented. A word that is longer stays whole. Unchanged for width 0.
std::string wrap(std::string_view text, std::size_t indent, std::size_t width);

}  // namespace kbench
