// Makes foreign bytes printable: strict UTF-8, one-line escapes, shortening, did-you-mean. Must not
// know where a text comes from or where it goes.
#include "core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kbench {
namespace {

constexpr std::string_view k_replacement = "\xEF\xBF\xBD";
constexpr std::size_t k_longest_name = 64;  // longer words are no slips of the keyboard

constexpr CodePoint k_invalid{0xFFFD, 1, false};

std::uint8_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<std::uint8_t>(text[i]);
}

/// Length announced by a lead byte, 0 for a byte that cannot lead.
std::size_t sequence_length(std::uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

bool ends_a_line(char32_t c) { return c == 0x2028 || c == 0x2029; }
bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); }

std::string escape(char32_t c) {
  switch (c) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\v':
      return "\\v";
    case '\f':
      return "\\f";
    default:
      return c < 0x80 ? fmt::format("\\x{:02x}", static_cast<unsigned>(c))
                      : fmt::format("\\u{:04x}", static_cast<unsigned>(c));
  }
}

/// Edit distance that counts a swap of neighbours as one slip.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

CodePoint decode_utf8(std::string_view bytes) {
  const std::uint8_t lead = byte_at(bytes, 0);
  const std::size_t length = sequence_length(lead);
  if (length == 1) return {lead, 1, true};
  if (length == 0 || bytes.size() < length) return k_invalid;
  char32_t value = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const std::uint8_t next = byte_at(bytes, i);
    if ((next & 0xC0u) != 0x80u) return k_invalid;
    value = (value << 6) | (next & 0x3Fu);
  }
  constexpr char32_t k_smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < k_smallest[length] || surrogate || value > 0x10FFFF) return k_invalid;
  return {value, length, true};
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const CodePoint c = decode_utf8(bytes);
    out += c.valid ? bytes.substr(0, c.bytes) : k_replacement;
    bytes.remove_prefix(c.bytes);
  }
  return out;
}

std::string to_one_line(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const CodePoint c = decode_utf8(bytes);
    if (!c.valid) {
      out += k_replacement;
    } else if (ends_a_line(c.value) || (is_control(c.value) && c.value != '\t')) {
      out += escape(c.value);
    } else {
      out += bytes.substr(0, c.bytes);
    }
    bytes.remove_prefix(c.bytes);
  }
  return out;
}

std::string_view did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > k_longest_name) return {};
  const std::string lower = to_lower(word);
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(lower, to_lower(candidate));
    // A name of which nothing is left is no slip: `m` does not mean `n`.
    if (distance >= std::max(word.size(), candidate.size())) continue;
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string shorten(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  constexpr std::string_view k_dots = "...";
  if (bytes < k_dots.size()) return std::string(k_dots.substr(0, bytes));
  std::size_t end = bytes - k_dots.size();
  while (end > 0 && (byte_at(text, end) & 0xC0u) == 0x80u) --end;
  return std::string(text.substr(0, end)).append(k_dots);
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace kbench
