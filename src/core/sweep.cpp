// Braces to combinations, as text: what a value means is decided when the lines that come out are
// parsed. Must not know any key or problem.
#include "core/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "core/error.h"
#include "core/excerpt.h"
#include "core/text.h"

namespace kbench {
namespace {

constexpr std::size_t k_most_lines = 100000;

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<std::int64_t> to_integer(std::string_view text) {
  text = trim(text);
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

/// One line with its braces, for messages.
class Sweep {
 public:
  Sweep(std::string_view text, std::string_view source) : text_(text), source_(source) {}
  std::vector<std::string> expand() const;

 private:
  [[noreturn]] void fail(std::string_view part, const std::string& what) const;
  void refuse_too_many(std::string_view part, std::size_t count) const;
  std::vector<std::string> values(std::string_view inside) const;
  void add_range(std::string_view item, std::size_t dots, std::vector<std::string>& values) const;

  std::string_view text_, source_;
};

/// `part` is a piece of the text.
void Sweep::fail(std::string_view part, const std::string& what) const {
  const auto at = static_cast<std::size_t>(part.data() - text_.data());
  throw Error(ExitCode::case_file,
              at_position(source_, 1, static_cast<int>(at) + 1, what) + "\n" + excerpt(text_, at));
}

void Sweep::refuse_too_many(std::string_view part, std::size_t count) const {
  if (count <= k_most_lines) return;
  fail(part,
       fmt::format("more than {} cases (the braces multiply); shorten a range", k_most_lines));
}

void Sweep::add_range(std::string_view item, std::size_t dots,
                      std::vector<std::string>& values) const {
  constexpr std::string_view k_grammar = "a range is `a..b`, `a..b+s` or `a..b*f` of integers";
  const std::string_view behind = item.substr(dots + 2);
  // A sign in front of the end is no step.
  const std::size_t step_at = behind.find_first_of("+*", trim(behind).empty() ? 0 : 1);
  const auto first = to_integer(item.substr(0, dots));
  const auto last = to_integer(behind.substr(0, step_at));
  const bool has_step = step_at != std::string_view::npos;
  const auto step = has_step ? to_integer(behind.substr(step_at + 1)) : std::int64_t{1};
  if (!first || !last || !step) {
    fail(item,
         fmt::format("`{}` is no range ({}); correct it", to_one_line(trim(item)), k_grammar));
  }
  const bool factor = has_step && behind[step_at] == '*';
  if (*first > *last || *step < (factor ? 2 : 1) || (factor && *first < 1)) {
    fail(item,
         fmt::format("the range `{}` does not go up ({}); begin with the smaller end, and take a "
                     "step above 0 or a factor above 1",
                     to_one_line(trim(item)), k_grammar));
  }
  for (std::int64_t value = *first;;) {
    values.push_back(std::to_string(value));
    refuse_too_many(item, values.size());
    // Without the overflow that value + step or value * step could meet.
    if (factor ? value > *last / *step : value > *last - *step) return;
    value = factor ? value * *step : value + *step;
  }
}

std::vector<std::string> Sweep::values(std::string_view inside) const {
  std::vector<std::string> values;
  for (;;) {
    const std::size_t comma = inside.find(',');
    const std::string_view item = inside.substr(0, comma);
    const std::size_t dots = item.find("..");
    if (trim(item).empty()) fail(inside, "an empty value in braces; write a value or a range");
    if (dots == std::string_view::npos) {
      values.emplace_back(trim(item));
    } else {
      add_range(item, dots, values);
    }
    if (comma == std::string_view::npos) return values;
    inside.remove_prefix(comma + 1);
  }
}

std::vector<std::string> Sweep::expand() const {
  std::vector<std::string> lines{""};
  for (std::string_view left = text_; !left.empty();) {
    const std::size_t open = left.find_first_of("{}");
    for (std::string& line : lines) line += left.substr(0, open);
    if (open == std::string_view::npos) break;
    if (left[open] == '}') fail(left.substr(open), "`}` without `{`; add the opening brace");
    const std::size_t close = left.find_first_of("{}", open + 1);
    if (close == std::string_view::npos || left[close] == '{') {
      fail(left.substr(open), "`{` is not closed; add `}` behind the last value");
    }
    const std::vector<std::string> choices = values(left.substr(open + 1, close - open - 1));
    refuse_too_many(left.substr(open), lines.size() * choices.size());
    std::vector<std::string> longer;
    longer.reserve(lines.size() * choices.size());
    for (const std::string& line : lines) {
      for (const std::string& choice : choices) longer.push_back(line + choice);
    }
    lines = std::move(longer);
    left.remove_prefix(close + 1);
  }
  return lines;
}

}  // namespace

std::vector<std::string> expand_sweep(std::string_view text, std::string_view source) {
  return Sweep(text, source).expand();
}

}  // namespace kbench
