// YAML as a plain tree: scalars as the text that stands in the file, lists and maps with positions.
// Private to task_file.cpp.
//
// Only what a task file needs is let through. Anchors, aliases, merge keys, tags, repeated keys and
// a second document are refused, because YAML libraries disagree on them; no scalar is ever
// converted.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kbench {

struct YamlNode {
  enum class Kind { null, scalar, list, map } kind = Kind::null;
  int line = 0, column = 0;                            ///< 1-based; columns in bytes
  std::string text;                                    ///< of a scalar
  std::vector<YamlNode> elements;                      ///< of a list
  std::vector<std::pair<YamlNode, YamlNode>> entries;  ///< of a map; keys are scalars
};

/// Throws Error(case_file) with `file:line:column` for everything that is not such a tree. `file`
/// is its name in messages. An empty document is a null node.
YamlNode parse_yaml(std::string_view text, std::string_view file);

/// Throws Error(case_file) with the position of `node`.
[[noreturn]] void yaml_error(std::string_view file, const YamlNode& node, std::string_view what);

}  // namespace kbench
