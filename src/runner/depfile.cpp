// Reads the make rule of a -MMD file. Pure text; does not look at the files that it names.
#include "runner/depfile.h"

namespace kbench {

std::vector<std::string> parse_depfile(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] == '\\' && (next == '\n' || next == '\r')) {
      end_word();
      ++i;
    } else if (text[i] == '\\' && (next == ' ' || next == '#' || next == '\\')) {
      word += next;
      ++i;
    } else if (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
      end_word();
    } else {
      word += text[i];
    }
  }
  end_word();
  // `target: a b` or, from nvcc, `target : a b`.
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != ":" && words[i].back() != ':') continue;
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return words;
  }
  return {};
}

}  // namespace kbench
