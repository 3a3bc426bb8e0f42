// The grammar of the case file: text to entries with their positions. Must not know any problem or
// which keys exist, and reads no file.
#include "core/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "core/error.h"
#include "core/excerpt.h"
#include "core/text.h"

namespace kbench {
namespace {

constexpr std::size_t k_longest_line = std::size_t{64} << 10;
constexpr std::string_view k_value_grammar =
    "a value is a name, an integer, True or False, or a list of integers";

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Reads one line, or a value alone, from left to right.
class Scanner {
 public:
  /// Without a file name messages carry no position.
  Scanner(std::string_view text, std::string_view file, int line)
      : text_(text), file_(file), line_(line) {}

  std::vector<SpecEntry> entries();
  SpecValue lone_value();

 private:
  SpecEntry entry(const std::vector<SpecEntry>& earlier);
  SpecValue value();
  std::int64_t integer();
  std::vector<std::int64_t> integers();
  std::string_view name();
  void end_of_part();

  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  void skip_blanks() {
    while (is_blank(peek())) ++at_;
  }
  int column(std::size_t at) const { return static_cast<int>(at) + 1; }
  std::string here() const;
  [[noreturn]] void fail(std::size_t at, const std::string& what) const;

  std::string_view text_, file_;
  int line_;
  std::size_t at_ = 0;
};

void Scanner::fail(std::size_t at, const std::string& what) const {
  if (file_.empty()) throw Error(ExitCode::case_file, what);
  throw Error(ExitCode::case_file,
              at_position(file_, line_, column(at), what) + "\n" + excerpt(text_, at));
}

/// What stands at the present position, in words.
std::string Scanner::here() const {
  if (at_end()) return "the end of the line";
  const CodePoint c = decode_utf8(text_.substr(at_));
  const std::string shown = to_one_line(text_.substr(at_, c.bytes));
  if (c.value == '\t') return "a tab";
  return c.value < 0x80 ? fmt::format("`{}`", shown)
                        : fmt::format("`{}` (U+{:04X})", shown, static_cast<unsigned>(c.value));
}

std::string_view Scanner::name() {
  const std::size_t begin = at_;
  while (starts_name(peek()) || (at_ > begin && is_digit(peek()))) ++at_;
  return text_.substr(begin, at_ - begin);
}

std::int64_t Scanner::integer() {
  const std::size_t begin = at_;
  if (peek() == '+' || peek() == '-') ++at_;
  if (!is_digit(peek())) {
    fail(at_, fmt::format("{} where a digit is expected ({})", here(), k_value_grammar));
  }
  while (is_digit(peek())) ++at_;
  std::string_view digits = text_.substr(begin, at_ - begin);
  const std::string shown = shorten(digits, 40);
  if (digits.front() == '+') digits.remove_prefix(1);
  std::int64_t result = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), result);
  if (parsed.ec != std::errc()) {
    fail(begin, fmt::format("`{}` is out of range (integers have 64 bits: -9223372036854775808 to "
                            "9223372036854775807); write a smaller number",
                            shown));
  }
  return result;
}

std::vector<std::int64_t> Scanner::integers() {
  const char close = peek() == '[' ? ']' : ')';
  const std::size_t begin = at_++;
  std::vector<std::int64_t> values;
  for (skip_blanks(); peek() != close; skip_blanks()) {
    if (!at_end()) values.push_back(integer());
    skip_blanks();
    if (at_end()) fail(begin, fmt::format("the list is not closed; add `{}`", close));
    if (peek() == ',') {
      ++at_;
    } else if (peek() != close) {
      fail(at_, fmt::format("{} in a list of integers; write `,` or `{}`", here(), close));
    }
  }
  ++at_;
  return values;
}

SpecValue Scanner::value() {
  const char c = peek();
  if (starts_name(c)) {
    const std::string_view word = name();
    if (word == "True" || word == "true") return true;
    if (word == "False" || word == "false") return false;
    return std::string(word);
  }
  if (c == '[' || c == '(') return integers();
  if (is_digit(c) || c == '+' || c == '-') return integer();
  fail(at_, fmt::format("{} where a value is expected ({})", here(), k_value_grammar));
}

/// A value ends at a blank, at `;` or at the end: `12abc` and `1.5` are no values.
void Scanner::end_of_part() {
  const std::size_t behind_value = at_;
  skip_blanks();
  if (at_end() || peek() == ';') return;
  fail(at_, fmt::format("{} {} ({}); write `;` between parts", here(),
                        at_ == behind_value ? "inside a value" : "after a value", k_value_grammar));
}

SpecEntry Scanner::entry(const std::vector<SpecEntry>& earlier) {
  skip_blanks();
  const std::size_t key_at = at_;
  if (at_end() || peek() == ';') {
    fail(at_, "empty part (a part is `key: value`); remove the extra `;` or write the part");
  }
  const std::string_view key = name();
  if (key.empty()) {
    fail(at_, fmt::format("{} where a key is expected (a key is a name of letters, digits and `_`)",
                          here()));
  }
  const std::string shown = shorten(key, 60);
  const auto same = [key](const SpecEntry& other) { return other.key == key; };
  if (std::any_of(earlier.begin(), earlier.end(), same)) {
    fail(key_at, fmt::format("key `{}` is repeated; keep one of the two", shown));
  }
  skip_blanks();
  if (peek() != ':') {
    fail(at_, fmt::format("{} where `:` is expected; write `{}: value`", here(), shown));
  }
  ++at_;
  skip_blanks();
  const std::size_t value_at = at_;
  SpecEntry result{std::string(key), value(), column(key_at), column(value_at), line_, line_,
                   key_at,           value_at};
  end_of_part();
  return result;
}

std::vector<SpecEntry> Scanner::entries() {
  skip_blanks();
  if (at_end()) fail(0, "blank line (each line is one case); remove it");
  std::vector<SpecEntry> result;
  result.push_back(entry(result));
  while (peek() == ';') {
    ++at_;
    result.push_back(entry(result));
  }
  return result;
}

SpecValue Scanner::lone_value() {
  skip_blanks();
  SpecValue result = value();
  skip_blanks();
  if (!at_end()) fail(at_, fmt::format("{} inside a value ({})", here(), k_value_grammar));
  return result;
}

/// Refuses what is no text at all before any line of it is echoed.
void require_text(std::string_view text, std::string_view file) {
  int line = 1;
  std::size_t line_at = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text.substr(at));
    if (!c.valid || c.value == 0) {
      const auto byte = static_cast<unsigned char>(text[at]);
      throw Error(
          ExitCode::case_file,
          at_position(file, line, static_cast<int>(at - line_at) + 1,
                      fmt::format("byte 0x{:02x} is not text (a case file is UTF-8; is this "
                                  "a binary file?); give a text file",
                                  byte)));
    }
    at += c.bytes;
    if (c.value == '\n') {
      ++line;
      line_at = at;
    }
  }
}

void require_short(std::string_view text, std::string_view file, int line) {
  if (text.size() <= k_longest_line) return;
  throw Error(ExitCode::case_file,
              at_position(file, line, static_cast<int>(k_longest_line) + 1,
                          fmt::format("the line is too long ({} bytes, the limit is {}); write one "
                                      "case a line",
                                      text.size(), k_longest_line)));
}

}  // namespace

SpecValue parse_spec_value(std::string_view text) { return Scanner(text, {}, 0).lone_value(); }

SpecLine parse_spec_line(std::string_view text, std::string_view file, int line) {
  require_short(text, file, line);
  return SpecLine{std::string(text), std::string(file), line, Scanner(text, file, line).entries()};
}

std::vector<SpecLine> parse_spec_text(std::string_view text, std::string_view file) {
  if (text.empty()) {
    throw Error(ExitCode::case_file,
                at_position(file, 1, 1,
                            "no case (the file is empty); write one case a line, such as `batch: "
                            "20; n: 32; cond: 1; seed: 43214`"));
  }
  require_text(text, file);
  if (text.starts_with("\xEF\xBB\xBF")) {
    throw Error(ExitCode::case_file,
                at_position(file, 1, 1,
                            "a byte order mark (U+FEFF) stands before the first case; save the "
                            "file as UTF-8 without it"));
  }
  std::vector<SpecLine> lines;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(parse_spec_line(line, file, number));
  }
  return lines;
}

}  // namespace kbench
