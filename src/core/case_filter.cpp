// The grammar of --filter and its meaning for one case. Must not know where a case comes from.
#include "core/case_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/error.h"
#include "core/text.h"

namespace kbench {
namespace {

using Compare = CaseCondition::Compare;

struct Operator {
  std::string_view text;
  Compare compare;
};
// The longer ones first: `<=` begins with `<`.
constexpr std::array<Operator, 6> k_operators{{{"!=", Compare::unequal},
                                               {"<=", Compare::at_most},
                                               {">=", Compare::at_least},
                                               {"=", Compare::equal},
                                               {"<", Compare::less},
                                               {">", Compare::greater}}};

constexpr std::array<std::string_view, 5> k_keys{"problem", "batch", "n", "cond", "case"};

bool is_name(std::string_view key) { return key == "problem" || key == "case"; }

std::int64_t number_of(std::string_view key, const Case& spec) {
  return key == "batch" ? spec.batch : key == "n" ? spec.n : spec.cond;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Pieces between `separator`, without blanks around them.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(trim(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

[[noreturn]] void refuse(const std::string& source, std::string_view part, const std::string& why) {
  throw Error(ExitCode::usage, fmt::format("`{}` is no condition for `{}` ({}); give conditions "
                                           "such as `n >= 512; case = {{dense,mixed}}`",
                                           to_one_line(part), source, why));
}

void check_key(const std::string& source, std::string_view part, std::string_view key) {
  if (std::find(k_keys.begin(), k_keys.end(), key) != k_keys.end()) return;
  const std::string_view near = did_you_mean(key, k_keys);
  refuse(source, part,
         fmt::format("the keys are problem, batch, n, cond and case{}",
                     near.empty() ? "" : fmt::format("; did you mean `{}`?", near)));
}

void add_value(CaseCondition& condition, const std::string& source, std::string_view part,
               std::string_view value) {
  if (is_name(condition.key)) {
    if (value.empty()) refuse(source, part, "the value is missing");
    condition.names.push_back(to_lower(value));
    return;
  }
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || stop != value.data() + value.size()) {
    refuse(source, part, fmt::format("`{}` takes whole numbers", condition.key));
  }
  condition.values.push_back(number);
}

CaseCondition parse_condition(std::string_view part, const std::string& source) {
  const std::size_t at = part.find_first_of("!<>=");
  if (at == std::string_view::npos) refuse(source, part, "no = != < <= > or >= in it");
  const std::string_view rest = part.substr(at);
  const auto found = std::find_if(k_operators.begin(), k_operators.end(),
                                  [&](const Operator& o) { return rest.starts_with(o.text); });
  if (found == k_operators.end()) refuse(source, part, "no = != < <= > or >= in it");
  CaseCondition condition;
  condition.compare = found->compare;
  condition.key = trim(part.substr(0, at));
  check_key(source, part, condition.key);
  const bool equality = found->compare == Compare::equal || found->compare == Compare::unequal;
  if (is_name(condition.key) && !equality) {
    refuse(source, part, fmt::format("`{}` knows = and != alone", condition.key));
  }
  std::string_view value = trim(rest.substr(found->text.size()));
  const bool braces = value.size() >= 2 && value.front() == '{' && value.back() == '}';
  if (!braces) {
    add_value(condition, source, part, value);
    return condition;
  }
  if (!equality) refuse(source, part, "braces go with = and != alone");
  for (const std::string_view item : split(value.substr(1, value.size() - 2), ',')) {
    add_value(condition, source, part, item);
  }
  return condition;
}

template <class Value>
bool contains(const std::vector<Value>& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool holds(const CaseCondition& condition, const Case& spec) {
  if (is_name(condition.key)) {
    const bool in = contains(condition.names, condition.key == "case" ? spec.kind : spec.problem);
    return in == (condition.compare == Compare::equal);
  }
  const std::int64_t number = number_of(condition.key, spec);
  const std::int64_t value = condition.values.front();
  switch (condition.compare) {
    case Compare::equal:
      return contains(condition.values, number);
    case Compare::unequal:
      return !contains(condition.values, number);
    case Compare::less:
      return number < value;
    case Compare::at_most:
      return number <= value;
    case Compare::greater:
      return number > value;
    case Compare::at_least:
      return number >= value;
  }
  KBENCH_ASSERT(false);
}

}  // namespace

std::vector<CaseCondition> parse_case_filter(std::string_view text, const std::string& source) {
  std::vector<CaseCondition> conditions;
  for (const std::string_view part : split(text, ';')) {
    conditions.push_back(parse_condition(part, source));
  }
  return conditions;
}

bool matches(const std::vector<CaseCondition>& conditions, const Case& spec) {
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const CaseCondition& condition) { return holds(condition, spec); });
}

}  // namespace kbench
