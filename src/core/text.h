// Text that is safe to print, to put on a result line and into JSON.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace kbench {

/// The character at the start of some bytes. Invalid: one byte long and U+FFFD.
struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;
  bool valid = false;
};

/// Strict UTF-8 (no overlong forms, surrogates or values above U+10FFFF). `bytes` is not empty.
CodePoint decode_utf8(std::string_view bytes);

/// Valid UTF-8: every invalid byte becomes U+FFFD. Nothing else changes.
std::string to_valid_utf8(std::string_view bytes);

/// One line: valid UTF-8 in which NUL, control characters and every line end of Python's
/// str.splitlines (\n \r \v \f \x1c-\x1e U+0085 U+2028 U+2029) stand escaped, as \n or \u2028. A
/// tab ends no line and stays, so that a spec with tabs is echoed verbatim. The only place where
/// text is made fit for a result line.
std::string to_one_line(std::string_view bytes);

/// The nearest candidate by edit distance when it is close enough to be a slip, else empty.
std::string_view did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

/// `text` cut to at most `bytes` bytes at a character boundary, ending in `...` when cut.
std::string shorten(std::string_view text, std::size_t bytes);

/// Lower case of ASCII letters.
std::string to_lower(std::string_view text);

}  // namespace kbench
