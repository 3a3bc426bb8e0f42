// The YAML task file: `tests:` and `benchmarks:` lists of maps, time-outs and an optional problem.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/spec.h"

namespace kbench {

struct TaskFile {
  std::optional<std::string> problem;  ///< key `problem`
  std::vector<SpecLine> tests;
  std::vector<SpecLine> benchmarks;
  std::optional<double> test_timeout_s;       ///< key `test_timeout`
  std::optional<double> benchmark_timeout_s;  ///< key `benchmark_timeout`
  std::optional<double> ranked_timeout_s;     ///< key `ranked_timeout`
};

/// True when `text` is a task file rather than a shape file: `path` ends in .yaml or .yml, or the
/// first line that is neither blank nor a comment is `<key>:` of a task file.
bool looks_like_task_file(std::string_view text, std::string_view path);

/// Parses a task file. A row's `raw` is `key: value` joined by `; ` in file order.
/// Duplicate keys, anchors, aliases, merge keys, tags, documents after the first and values outside
/// the spec grammar throw Error(case_file) with `file:line:column`.
TaskFile parse_task_file(std::string_view text, std::string_view file);

}  // namespace kbench
