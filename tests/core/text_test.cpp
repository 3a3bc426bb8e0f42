#include "core/text.h"

#include <vector>

#include "catch.h"
#include "core/excerpt.h"

using namespace kbench;
using namespace std::string_literals;

TEST_CASE("every invalid byte becomes a replacement character and nothing else changes") {
  const std::string bad = "\xEF\xBF\xBD";
  struct Row {
    std::string bytes, text;
  };
  const std::vector<Row> rows{
      {"", ""},
      {"plain\n\0 text"s, "plain\n\0 text"s},
      {"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"},
      {"a\xFF"
       "b",
       "a" + bad + "b"},
      {"\xC3", bad},
      {"\xC3(", bad + "("},
      {"\xE2\x82", bad + bad},
      {"\xC0\x80", bad + bad},                      // overlong NUL
      {"\xE0\x80\x8A", bad + bad + bad},            // overlong newline
      {"\xED\xA0\x80", bad + bad + bad},            // surrogate
      {"\xF4\x90\x80\x80", bad + bad + bad + bad},  // above U+10FFFF
      {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(to_valid_utf8(row.bytes) == row.text);
  }
}

TEST_CASE("a newline in a message cannot forge a key") {
  struct Row {
    std::string bytes, line;
  };
  const std::vector<Row> rows{
      {"a\ncheck: pass", "a\\ncheck: pass"},
      {"a\rb\vc\fd", "a\\rb\\vc\\fd"},
      {"a\x1C"
       "b\x1D"
       "c\x1E"
       "d\x1F",
       "a\\x1cb\\x1dc\\x1ed\\x1f"},
      {"a\xC2\x85"
       "b",
       "a\\u0085b"},
      {"a\xE2\x80\xA8"
       "b\xE2\x80\xA9",
       "a\\u2028b\\u2029"},
      {"a\0b"s, "a\\x00b"},
      {"a\x1B[2J\x7F", "a\\x1b[2J\\x7f"},
      {"tab\tstays", "tab\tstays"},
      {"\xE2\x82\xAC stays, \xFF does not", "\xE2\x82\xAC stays, \xEF\xBF\xBD does not"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.line);
    CHECK(to_one_line(row.bytes) == row.line);
  }
}

TEST_CASE("a slip of the keyboard is recognised and a different word is not") {
  const std::vector<std::string_view> names{"batch", "n", "cond", "seed", "rankdef", "nearrank"};
  struct Row {
    const char *word, *meant;
  };
  for (const Row& row :
       {Row{"seeed", "seed"}, Row{"sede", "seed"}, Row{"rankdeff", "rankdef"}, Row{"SEED", "seed"},
        Row{"N", "n"}, Row{"nn", "n"}, Row{"m", ""}, Row{"bacth", "batch"},
        Row{"near_rank", "nearrank"}, Row{"spectrum", ""}, Row{"", ""}}) {
    CAPTURE(row.word);
    CHECK(did_you_mean(row.word, names) == row.meant);
  }
  CHECK(did_you_mean(std::string(100000, 's'), names).empty());
  CHECK(did_you_mean("seed", {}).empty());
}

TEST_CASE("text is cut at a character and says so") {
  CHECK(shorten("hello", 5) == "hello");
  CHECK(shorten("hello!", 5) == "he...");
  CHECK(shorten("a\xE2\x82\xAC\xE2\x82\xAC", 6) == "a...");
  CHECK(shorten("a\xE2\x82\xAC\xE2\x82\xAC", 7) == "a\xE2\x82\xAC\xE2\x82\xAC");
  CHECK(shorten("\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC", 7) == "\xE2\x82\xAC...");
  CHECK(shorten("hello", 2) == "..");
  CHECK(shorten("hello", 0).empty());
}

TEST_CASE("only ASCII letters are lowered") {
  CHECK(to_lower("RankDEF_1 \xC3\x89[") == "rankdef_1 \xC3\x89[");
}

TEST_CASE("an excerpt shows the neighbourhood of a long line") {
  CHECK(excerpt("abc", 1) == "  abc\n   ^");
  CHECK(excerpt("abc", 3) == "  abc\n     ^");
  CHECK(excerpt("", 0) == "  \n  ^");
  CHECK(excerpt("\x1B"
                "b\nc",
                1) ==
        "  \xEF\xBF\xBD"
        "b\xEF\xBF\xBD"
        "c\n   ^");
  const std::string text = std::string(500, 'a') + "X" + std::string(500, 'b');
  const std::string shown = excerpt(text, 500);
  CHECK(shown == "  ..." + std::string(60, 'a') + "X" + std::string(39, 'b') + "...\n" +
                     std::string(65, ' ') + "^");
}
