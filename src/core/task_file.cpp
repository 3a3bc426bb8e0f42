// The keys of a task file: from a YAML tree to rows in the spec line's terms. Must not know any
// problem: whether the keys of a row make a case is judged elsewhere.
#include "core/task_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/excerpt.h"
#include "core/text.h"
#include "core/yaml_tree.h"

namespace kbench {
namespace {

// Keys of public task files; those that are not read by name below say nothing about a case.
constexpr std::array<std::string_view, 15> k_keys{
    "problem",        "tests",      "benchmarks",      "test_timeout", "benchmark_timeout",
    "ranked_timeout", "ranking_by", "profile_timeout", "files",        "lang",
    "description",    "config",     "templates",       "gpus",         "milestones"};

bool is_task_key(std::string_view key) {
  return std::find(k_keys.begin(), k_keys.end(), key) != k_keys.end();
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view k_blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(k_blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(k_blanks) - begin + 1);
}

/// Reads one tree; `file` names it in messages.
class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  TaskFile read(const YamlNode& root) const {
    using Kind = YamlNode::Kind;
    if (root.kind != Kind::map) {
      fail(root, "no task (a task file is a map with `tests:` or `benchmarks:`); add one of them");
    }
    TaskFile task;
    bool has_rows = false;
    for (const auto& [key, value] : root.entries) {
      if (key.text == "tests" || key.text == "benchmarks") has_rows = true;
      read_key(key, value, task);
    }
    if (!has_rows) {
      fail(root, "neither `tests` nor `benchmarks` (a task file lists its cases there); add one");
    }
    return task;
  }

 private:
  [[noreturn]] void fail(const YamlNode& node, std::string_view what) const {
    yaml_error(file_, node, what);
  }

  void read_key(const YamlNode& key, const YamlNode& value, TaskFile& task) const {
    if (key.text == "tests") {
      task.tests = rows(key, value);
    } else if (key.text == "benchmarks") {
      task.benchmarks = rows(key, value);
    } else if (key.text == "problem") {
      task.problem = name(key, value);
    } else if (key.text == "test_timeout") {
      task.test_timeout_s = seconds(key, value);
    } else if (key.text == "benchmark_timeout") {
      task.benchmark_timeout_s = seconds(key, value);
    } else if (key.text == "ranked_timeout") {
      task.ranked_timeout_s = seconds(key, value);
    } else if (key.text == "ranking_by") {
      if (name(key, value) != "geom") {
        fail(value, "unknown `ranking_by` (kbench scores by the geometric mean); write `geom`");
      }
    } else if (!is_task_key(key.text)) {
      const std::string_view meant = did_you_mean(key.text, k_keys);
      fail(key,
           fmt::format("unknown key `{}` (keys: {}); {}", to_one_line(shorten(key.text, 60)),
                       fmt::join(k_keys, ", "),
                       meant.empty() ? "remove it" : fmt::format("did you mean `{}`?", meant)));
    }
  }

  /// The value of a scalar in the spec line's grammar; `key` names it in messages.
  SpecValue scalar(const YamlNode& key, const YamlNode& value) const {
    const std::string shown = to_one_line(shorten(key.text, 60));
    if (value.kind == YamlNode::Kind::null) {
      fail(value, fmt::format("`{}` has no value; write one", shown));
    }
    if (value.kind != YamlNode::Kind::scalar) {
      fail(value, fmt::format("`{}` needs a plain value; write one", shown));
    }
    try {
      return parse_spec_value(trimmed(value.text));
    } catch (const Error& error) {
      fail(value, fmt::format("`{}`: {}", shown, error.what()));
    }
  }

  std::string name(const YamlNode& key, const YamlNode& value) const {
    SpecValue parsed = scalar(key, value);
    if (auto* text = std::get_if<std::string>(&parsed)) return std::move(*text);
    fail(value, fmt::format("`{}` needs a name; write one", key.text));
  }

  double seconds(const YamlNode& key, const YamlNode& value) const {
    const SpecValue parsed = scalar(key, value);
    const auto* number = std::get_if<std::int64_t>(&parsed);
    if (number == nullptr || *number <= 0) {
      fail(value,
           fmt::format("`{}` needs a positive whole number of seconds; write one", key.text));
    }
    return static_cast<double>(*number);
  }

  std::vector<SpecLine> rows(const YamlNode& key, const YamlNode& list) const {
    if (list.kind != YamlNode::Kind::list) {
      fail(list.kind == YamlNode::Kind::null ? key : list,
           fmt::format("`{}` is no list of cases; write rows such as `- {{batch: 20, n: 32, cond: "
                       "1, seed: 43214}}`",
                       key.text));
    }
    if (list.elements.empty()) {
      fail(list, fmt::format("`{}` is empty; list at least one case or remove the key", key.text));
    }
    std::vector<SpecLine> result;
    for (const YamlNode& element : list.elements) result.push_back(row(key, element));
    return result;
  }

  SpecLine row(const YamlNode& list_key, const YamlNode& map) const {
    if (map.kind != YamlNode::Kind::map || map.entries.empty()) {
      fail(map, fmt::format("a row of `{}` is no map of keys and values; write it as `{{batch: 20, "
                            "n: 32, cond: 1, seed: 43214}}`",
                            list_key.text));
    }
    SpecLine line;
    line.file = file_;
    line.line = map.line;
    for (const auto& [key, value] : map.entries) add_entry(key, value, line);
    return line;
  }

  void add_entry(const YamlNode& key, const YamlNode& value, SpecLine& line) const {
    require_identifier(key);
    SpecEntry entry;
    entry.key = key.text;
    entry.line = key.line;
    entry.key_column = key.column;
    entry.value_line = value.line;
    entry.value_column = value.column;
    std::string text;
    if (value.kind == YamlNode::Kind::list) {
      entry.value = integers(key, value);
      text = fmt::format("[{}]", fmt::join(std::get<std::vector<std::int64_t>>(entry.value), ", "));
    } else {
      entry.value = scalar(key, value);
      text = trimmed(value.text);
    }
    if (!line.raw.empty()) line.raw += "; ";
    entry.key_offset = line.raw.size();
    line.raw += entry.key + ": ";
    entry.value_offset = line.raw.size();
    line.raw += text;
    line.entries.push_back(std::move(entry));
  }

  /// A key is what the spec line's grammar takes for a name, True and False included.
  void require_identifier(const YamlNode& key) const {
    const auto is_letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    const auto fits = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
    const bool valid = !key.text.empty() && is_letter(key.text.front()) &&
                       std::all_of(key.text.begin(), key.text.end(), fits);
    if (valid) return;
    fail(key, fmt::format("`{}` is no key (a key is a name of letters, digits and `_`); rename it",
                          to_one_line(shorten(key.text, 60))));
  }

  std::vector<std::int64_t> integers(const YamlNode& key, const YamlNode& list) const {
    std::vector<std::int64_t> values;
    for (const YamlNode& element : list.elements) {
      const SpecValue parsed = scalar(key, element);
      const auto* number = std::get_if<std::int64_t>(&parsed);
      if (number == nullptr) fail(element, fmt::format("`{}` lists integers only", key.text));
      values.push_back(*number);
    }
    return values;
  }

  std::string_view file_;
};

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

bool looks_like_task_file(std::string_view text, std::string_view path) {
  if (ends_with(path, ".yaml") || ends_with(path, ".yml")) return true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const std::size_t colon = line.find(':');
    return line == "---" ||
           (colon != std::string_view::npos && is_task_key(trimmed(line.substr(0, colon))));
  }
  return false;
}

TaskFile parse_task_file(std::string_view text, std::string_view file) {
  return Reader(file).read(parse_yaml(text, file));
}

}  // namespace kbench
