// Judges a parsed line by what a problem says about itself: keys, types, ranges, case names. Must
// not know the problem's code, any device, or the secret seed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "core/error.h"
#include "core/excerpt.h"
#include "core/spec.h"
#include "core/text.h"

namespace kbench {
namespace {

constexpr std::array<std::string_view, 5> k_keys{"batch", "n", "cond", "seed", "case"};
constexpr std::string_view k_default_case = "dense";
constexpr std::int64_t k_most_elements = std::int64_t{1} << 60;  // of 4 bytes each: 2^62 bytes

/// Key and, as message says, where: `on_value` points at the value, else at the key.
[[noreturn]] void fail(const SpecLine& line, const SpecEntry& entry, bool on_value,
                       const std::string& what) {
  const int number = on_value ? entry.value_line : entry.line;
  const int column = on_value ? entry.value_column : entry.key_column;
  const std::size_t offset = on_value ? entry.value_offset : entry.key_offset;
  throw Error(ExitCode::case_file,
              at_position(line.file, number, column, what) + "\n" + excerpt(line.raw, offset));
}

[[noreturn]] void fail(const SpecLine& line, const std::string& what) {
  if (!line.entries.empty()) fail(line, line.entries.front(), false, what);
  throw Error(ExitCode::case_file,
              at_position(line.file, line.line, 1, what) + "\n" + excerpt(line.raw, 0));
}

const SpecEntry* find(const SpecLine& line, std::string_view key) {
  for (const SpecEntry& entry : line.entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

std::string describe(const SpecValue& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, bool>) {
          return held ? "True" : "False";
        } else if constexpr (std::is_same_v<Held, std::int64_t>) {
          return fmt::format("the integer `{}`", held);
        } else if constexpr (std::is_same_v<Held, std::string>) {
          return fmt::format("the name `{}`", shorten(held, 60));
        } else {
          return "a list";
        }
      },
      value);
}

void require_known_keys(const SpecLine& line) {
  for (const SpecEntry& entry : line.entries) {
    if (std::find(k_keys.begin(), k_keys.end(), entry.key) == k_keys.end()) {
      const std::string_view meant = did_you_mean(entry.key, k_keys);
      fail(line, entry, false,
           fmt::format("unknown key `{}` (keys: {}); {}", shorten(entry.key, 60),
                       fmt::join(k_keys, ", "),
                       meant.empty() ? "remove it" : fmt::format("did you mean `{}`?", meant)));
    }
    if (find(line, entry.key) != &entry) {
      fail(line, entry, false, fmt::format("key `{}` is repeated; keep one of the two", entry.key));
    }
  }
}

std::int64_t integer_of(const SpecLine& line, std::string_view key, std::int64_t least) {
  const SpecEntry* entry = find(line, key);
  if (entry == nullptr) {
    fail(line, fmt::format("key `{0}` is missing (a case needs batch, n, cond and seed); add `{0}: "
                           "<integer>`",
                           key));
  }
  const auto* value = std::get_if<std::int64_t>(&entry->value);
  if (value == nullptr) {
    fail(line, *entry, true,
         fmt::format("`{}` needs an integer (got {}); write one number", key,
                     describe(entry->value)));
  }
  if (*value < least) {
    fail(line, *entry, true,
         fmt::format("`{}: {}` is too small (the least is {}); write a larger number", key, *value,
                     least));
  }
  return *value;
}

/// The case name in lower case; empty for a value that is no name.
std::string case_name(const SpecLine& line) {
  const SpecEntry* entry = find(line, "case");
  if (entry == nullptr) return std::string(k_default_case);
  const auto* name = std::get_if<std::string>(&entry->value);
  return name == nullptr ? std::string() : to_lower(*name);
}

bool knows(const ProblemInfo& problem, std::string_view name) {
  return std::find(problem.cases.begin(), problem.cases.end(), name) != problem.cases.end();
}

std::string known_case(const SpecLine& line, const ProblemInfo& problem) {
  std::string name = case_name(line);
  if (knows(problem, name)) return name;
  const SpecEntry* entry = find(line, "case");
  if (entry == nullptr) {
    fail(line, fmt::format("`{}` has no case `{}` (the default); name one of: {}", problem.name,
                           k_default_case, fmt::join(problem.cases, ", ")));
  }
  const auto* text = std::get_if<std::string>(&entry->value);
  if (text == nullptr) {
    fail(line, *entry, true,
         fmt::format("`case` needs a name (got {}); write one of: {}", describe(entry->value),
                     fmt::join(problem.cases, ", ")));
  }
  const std::string_view meant = did_you_mean(name, problem.cases);
  fail(line, *entry, true,
       fmt::format("unknown case `{}` of {}; {}", shorten(*text, 60), problem.name,
                   meant.empty() ? fmt::format("write one of: {}", fmt::join(problem.cases, ", "))
                                 : fmt::format("did you mean `{}`?", meant)));
}

void require_addressable(const SpecLine& line, std::int64_t batch, std::int64_t n) {
  if (n <= k_most_elements / n && batch <= k_most_elements / (n * n)) return;
  fail(
      line, *find(line, n <= k_most_elements / n ? "batch" : "n"), true,
      fmt::format("`batch: {}; n: {}` is too large (4 batch n n bytes must not exceed 2^62); write "
                  "smaller numbers",
                  batch, n));
}

/// Keys mean what the plug-in makes of them; `case` names a matrix, which there is none of.
Case make_free_case(const SpecLine& line, const ProblemInfo& problem) {
  Case result;
  result.problem = problem.name;
  result.spec = line.raw;
  result.batch = 1;
  result.kind = "free";
  for (const SpecEntry& entry : line.entries) {
    if (find(line, entry.key) != &entry) {
      fail(line, entry, false, fmt::format("key `{}` is repeated; keep one of the two", entry.key));
    }
    const auto* value = std::get_if<std::int64_t>(&entry.value);
    if (value == nullptr) {
      fail(line, entry, true,
           fmt::format("`{}` needs an integer (got {}; problem {} takes nothing else); write one "
                       "number",
                       entry.key, describe(entry.value), problem.name));
    }
    result.parameters.push_back({entry.key, *value});
  }
  return result;
}

}  // namespace

bool knows_all_cases(const ProblemInfo& problem, const std::vector<SpecLine>& lines) {
  return std::all_of(lines.begin(), lines.end(),
                     [&](const SpecLine& line) { return knows(problem, case_name(line)); });
}

Case make_case(const SpecLine& line, const ProblemInfo& problem) {
  if (problem.free_form) return make_free_case(line, problem);
  require_known_keys(line);
  Case result;
  result.problem = problem.name;
  result.spec = line.raw;
  result.batch = integer_of(line, "batch", 1);
  result.n = integer_of(line, "n", 1);
  result.cond = integer_of(line, "cond", 0);
  result.seed = integer_of(line, "seed", 0);
  result.kind = known_case(line, problem);
  require_addressable(line, result.batch, result.n);
  return result;
}

}  // namespace kbench
