// Builds the tree from yaml-cpp's events, which show anchors, tags and marks that its own Node type
// hides or resolves. Must not know the keys of a task file.
#include "core/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

#include "core/error.h"
#include "core/excerpt.h"
#include "core/text.h"

namespace kbench {
namespace {

constexpr std::size_t k_deepest = 64;

class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string_view file) : file_(file) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (has_root_) fail(mark, "a second document (a task file is one); remove it");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(make(YamlNode::Kind::null, mark));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(mark, "an alias (YAML libraries disagree on them); write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    // yaml-cpp gives `?` for a plain scalar and `!` for a quoted one.
    if (tag != "?" && tag != "!" && !tag.empty()) refuse_tag(mark);
    YamlNode node = make(YamlNode::Kind::scalar, mark);
    node.text = value;
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::list, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::map, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

  YamlNode take_root() { return std::move(root_); }

 private:
  struct Level {
    YamlNode node;
    bool has_key = false;  ///< a map's entry that waits for its value
  };

  [[noreturn]] void fail(const YAML::Mark& mark, std::string_view what) const {
    throw Error(ExitCode::case_file, at_position(file_, mark.line + 1, mark.column + 1, what));
  }
  void refuse_tag(const YAML::Mark& mark) const {
    fail(mark, "a tag (values are read as they stand); remove it");
  }
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0) fail(mark, "an anchor (YAML libraries disagree on them); remove it");
  }

  static YamlNode make(YamlNode::Kind kind, const YAML::Mark& mark) {
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    refuse_anchor(mark, anchor);
    if (tag != "?" && !tag.empty()) refuse_tag(mark);
    if (levels_.size() == k_deepest) fail(mark, "nested too deeply; flatten it");
    levels_.push_back({make(kind, mark)});
  }

  void close() {
    YamlNode node = std::move(levels_.back().node);
    levels_.pop_back();
    if (node.kind == YamlNode::Kind::map) refuse_repeated_keys(node);
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (levels_.empty()) {
      root_ = std::move(node);
      has_root_ = true;
      return;
    }
    Level& level = levels_.back();
    if (level.node.kind == YamlNode::Kind::list) {
      level.node.elements.push_back(std::move(node));
    } else if (level.has_key) {
      level.node.entries.back().second = std::move(node);
      level.has_key = false;
    } else {
      require_key(node);
      level.node.entries.emplace_back(std::move(node), YamlNode());
      level.has_key = true;
    }
  }

  void require_key(const YamlNode& node) const {
    if (node.kind != YamlNode::Kind::scalar) yaml_error(file_, node, "a key must be a name");
    if (node.text == "<<") {
      yaml_error(file_, node, "a merge key (YAML libraries disagree on them); write the keys out");
    }
  }

  void refuse_repeated_keys(const YamlNode& map) const {
    std::vector<const YamlNode*> keys;
    for (const auto& entry : map.entries) keys.push_back(&entry.first);
    const auto by_text = [](const YamlNode* a, const YamlNode* b) { return a->text < b->text; };
    std::stable_sort(keys.begin(), keys.end(), by_text);
    const auto same = [](const YamlNode* a, const YamlNode* b) { return a->text == b->text; };
    const auto found = std::adjacent_find(keys.begin(), keys.end(), same);
    if (found == keys.end()) return;
    yaml_error(file_, **(found + 1),
               fmt::format("key `{}` is repeated; keep one of the two",
                           to_one_line(shorten((*found)->text, 60))));
  }

  std::string_view file_;
  std::vector<Level> levels_;
  YamlNode root_;
  bool has_root_ = false;
};

/// A document that holds nothing is a null node at its start.
YamlNode at_start() {
  YamlNode node;
  node.line = node.column = 1;
  return node;
}

/// yaml-cpp drops some bytes and takes others for another encoding: only text gets there.
void require_text(std::string_view text, std::string_view file) {
  YamlNode place = at_start();
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text.substr(at));
    if (!c.valid || c.value == 0) {
      yaml_error(file, place,
                 fmt::format("byte 0x{:02x} is not text (a task file is UTF-8; is this a binary "
                             "file?); give a text file",
                             static_cast<unsigned char>(text[at])));
    }
    at += c.bytes;
    place.column += static_cast<int>(c.bytes);
    if (c.value == '\n') {
      ++place.line;
      place.column = 1;
    }
  }
}

}  // namespace

void yaml_error(std::string_view file, const YamlNode& node, std::string_view what) {
  throw Error(ExitCode::case_file, at_position(file, node.line, node.column, what));
}

YamlNode parse_yaml(std::string_view text, std::string_view file) {
  require_text(text, file);
  std::istringstream stream{std::string(text)};
  TreeBuilder builder(file);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return at_start();
    while (parser.HandleNextDocument(builder)) continue;
  } catch (const YAML::Exception& error) {
    throw Error(ExitCode::case_file,
                at_position(file, error.mark.line + 1, error.mark.column + 1,
                            fmt::format("not YAML ({}); correct the line",
                                        to_one_line(shorten(error.msg, 200)))));
  }
  return builder.take_root();
}

}  // namespace kbench
