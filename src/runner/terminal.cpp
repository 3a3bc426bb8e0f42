// Widths, colours and line breaks of readable text. Knows no record and writes nothing.
#include "runner/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

namespace kbench {
namespace {

constexpr std::size_t k_narrowest = 40;  // below this a line break helps nobody

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::size_t terminal_width(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const std::string_view columns = variable("COLUMNS");
  std::size_t width = 0;
  std::from_chars(columns.data(), columns.data() + columns.size(), width);
  return width == 0 ? 80 : width;
}

/// Open MPI gives rank 0 a terminal of its own, wherever mpirun's output goes.
bool shows_people(int fd) {
  return isatty(fd) == 1 && std::getenv("OMPI_COMM_WORLD_RANK") == nullptr;
}

}  // namespace

bool is_terminal(int fd) {
  const std::string_view kind = variable("TERM");
  return shows_people(fd) && !kind.empty() && kind != "dumb";
}

TextStyle text_style(int fd, ColorChoice color) {
  TextStyle style;
  if (shows_people(fd)) style.width = std::max(terminal_width(fd), k_narrowest);
  style.color = color == ColorChoice::automatic ? is_terminal(fd) && variable("NO_COLOR").empty()
                                                : color == ColorChoice::always;
  return style;
}

std::string paint(const TextStyle& style, Paint how, std::string_view text) {
  constexpr std::array<std::string_view, 6> k_codes{"", "1", "2", "31", "32", "33"};
  if (!style.color || how == Paint::plain) return std::string(text);
  std::string painted = "\x1b[";
  painted += k_codes[static_cast<std::size_t>(how)];
  return painted.append("m").append(text).append("\x1b[0m");
}

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\x1b') {
      at = std::min(text.find('m', at), text.size());
    } else if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) {
      ++width;
    }
  }
  return width;
}

std::string pad(std::string text, std::size_t width) {
  const std::size_t have = width_of(text);
  if (have < width) text.append(width - have, ' ');
  return text;
}

std::string pad_left(const std::string& text, std::size_t width) {
  const std::size_t have = width_of(text);
  return have < width ? std::string(width - have, ' ') + text : text;
}

std::string flow(std::span<const std::string> cells, std::size_t indent, std::size_t width) {
  std::string text;
  std::size_t column = indent;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t length = width_of(cells[i]);
    if (i > 0 && width > 0 && column + 2 + length > width) {
      text.append("\n").append(indent, ' ');
      column = indent;
    } else if (i > 0) {
      text += "  ";
      column += 2;
    }
    text += cells[i];
    column += length;
  }
  return text;
}

std::string wrap(std::string_view text, std::size_t indent, std::size_t width) {
  if (width == 0) return std::string(text);
  std::string lines;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const std::size_t length = width_of(word);
    if (column > indent && column + 1 + length > width) {
      lines.append("\n").append(indent, ' ');
      column = indent;
    } else if (column > indent) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += length;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace kbench
