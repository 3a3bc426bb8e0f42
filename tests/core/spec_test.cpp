#include "core/spec.h"

#include <limits>

#include "catch.h"
#include "core/expect_error.h"

using namespace kbench;
using kbench::test::error_of;
using kbench::test::Said;
using Integers = std::vector<std::int64_t>;

TEST_CASE("a spec line is read key by key and echoed verbatim") {
  const std::string text = " batch:20 ;n : 32;\tcond:1; seed: 43214 ; case: Mixed ";
  const SpecLine line = parse_spec_line(text, "s.txt", 7);
  CHECK(line.raw == text);
  CHECK(line.file == "s.txt");
  CHECK(line.line == 7);
  REQUIRE(line.entries.size() == 5);
  CHECK(line.entries[0].key == "batch");
  CHECK(std::get<std::int64_t>(line.entries[0].value) == 20);
  CHECK(line.entries[1].key == "n");
  CHECK(std::get<std::int64_t>(line.entries[1].value) == 32);
  CHECK(line.entries[1].key_column == 12);
  CHECK(line.entries[1].value_column == 16);
  CHECK(line.entries[1].line == 7);
  CHECK(std::get<std::string>(line.entries[4].value) == "Mixed");
}

TEST_CASE("every kind of value is read") {
  struct Row {
    const char* text;
    SpecValue value;
  };
  const std::vector<Row> rows{
      {"dense", std::string("dense")},
      {"_x9", std::string("_x9")},
      {"Truely", std::string("Truely")},
      {"0", std::int64_t{0}},
      {"+12", std::int64_t{12}},
      {"-3", std::int64_t{-3}},
      {"010", std::int64_t{10}},
      {"9223372036854775807", std::numeric_limits<std::int64_t>::max()},
      {"-9223372036854775808", std::numeric_limits<std::int64_t>::min()},
      {"True", true},
      {"true", true},
      {"False", false},
      {"false", false},
      {"[1, 2]", Integers{1, 2}},
      {"( -1 ,+2 , 3 )", Integers{-1, 2, 3}},
      {"(4,)", Integers{4}},
      {"[]", Integers{}},
      {"  7\t", std::int64_t{7}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(parse_spec_value(row.text) == row.value);
  }
}

TEST_CASE("a wrong value alone is refused without a position") {
  for (const char* text :
       {"", " ", "1.5", "1e5", "12abc", "+", "-", "a b", "1 2", "[1, a]", "[1 2]", "[1, 2)",
        "[1, 2", "\"x\"", "9223372036854775808", "-9223372036854775809", "[1]2", "nan;"}) {
    CAPTURE(text);
    const Said said = error_of([&] { parse_spec_value(text); });
    CHECK(said.code == 113);
    CHECK_THAT(said.text, !ContainsSubstring("\n"));
  }
}

TEST_CASE("a mistake in a spec line is shown where it stands") {
  struct Row {
    const char* text;
    int column;
    const char* what;
  };
  const std::vector<Row> rows{
      {"batch: 1;; n: 2", 10, "empty part"},
      {"batch: 1; n: 2;", 16, "empty part"},
      {"batch: 1; n: 2; ", 17, "empty part"},
      {";batch: 1", 1, "empty part"},
      {"batch: 1; $n: 2", 11, "`$` where a key is expected"},
      {"batch: 1; 2n: 2", 11, "`2` where a key is expected"},
      {"batch: 1; n = 2", 13, "`=` where `:` is expected; write `n: value`"},
      {"batch", 6, "the end of the line where `:` is expected"},
      {"batch:", 7, "the end of the line where a value is expected"},
      {"batch: ; n: 2", 8, "`;` where a value is expected"},
      {"batch: 1, n: 2", 9, "`,` inside a value"},
      {"batch: 1 n: 2", 10, "`n` after a value"},
      {"batch: 1.5", 9, "`.` inside a value"},
      {"batch: -x", 9, "`x` where a digit is expected"},
      {"batch: 1; n: [1; 2]", 16, "`;` in a list of integers"},
      {"batch: 1; n: [1, 2", 14, "the list is not closed; add `]`"},
      {"batch: 1; batch: 1", 11, "key `batch` is repeated"},
      {"batch: 1; seed: 9223372036854775808", 17, "`9223372036854775808` is out of range"},
      {"batch: 1; seed: 18446744073709551617", 17, "is out of range"},
      {"batch: 1; n: \"32\"", 14, "`\"` where a value is expected"},
      {"batch: 1; n: \xC3\xA9", 14, "(U+00E9) where a value is expected"},
      {"batch: 1; n: 3\xE2\x80\xA8", 15, "`\\u2028` (U+2028) inside a value"},
      {"batch: 1;\x01n: 3", 10, "`\\x01` where a key is expected"},
      {"# comment", 1, "`#` where a key is expected"},
      {"", 1, "blank line"},
      {" \t ", 1, "blank line"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const Said said = error_of([&] { parse_spec_line(row.text, "a.txt", 3); });
    CHECK(said.code == 113);
    CHECK_THAT(said.text, StartsWith("a.txt:3:" + std::to_string(row.column) + ": "));
    CHECK_THAT(said.text.substr(0, said.text.find('\n')), ContainsSubstring(row.what));
  }
}

TEST_CASE("the caret stands below the mistake also behind tabs and wide bytes") {
  const Said tabs = error_of([] { parse_spec_line("batch:\t1;\t$", "a", 1); });
  CHECK_THAT(tabs.text, ContainsSubstring("\n  batch: 1; $\n            ^"));
  const Said bytes = error_of([] { parse_spec_line("a: 1; \xC3\xA9", "a", 1); });
  CHECK_THAT(bytes.text, ContainsSubstring("\n  a: 1; \xC3\xA9\n        ^"));
}

TEST_CASE("a shape file is one case a line with either line end and an optional last one") {
  for (const char* text : {"n: 1\nn: 2", "n: 1\nn: 2\n", "n: 1\r\nn: 2\r\n", "n: 1\r\nn: 2"}) {
    CAPTURE(text);
    const std::vector<SpecLine> lines = parse_spec_text(text, "a");
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].raw == "n: 1");
    CHECK(lines[1].raw == "n: 2");
    CHECK(lines[1].line == 2);
  }
}

TEST_CASE("a shape file that is no list of cases is refused") {
  using namespace std::string_literals;
  struct Row {
    std::string text;
    const char* what;
  };
  const std::vector<Row> rows{
      {"", "a:1:1: no case (the file is empty)"},
      {"\n", "a:1:1: blank line"},
      {"n: 1\n\n", "a:2:1: blank line"},
      {"n: 1\n\nn: 2\n", "a:2:1: blank line"},
      {"n: 1\n \t\n", "a:2:1: blank line"},
      {"n: 1\rn: 2\n", "a:1:5: `\\r` inside a value"},
      {"n: 1\nn:\0 2"s, "a:2:3: byte 0x00 is not text"},
      {"\x7F"
       "ELF\xFF",
       "a:1:5: byte 0xff is not text"},
      {"n: 1; \xED\xA0\x80", "a:1:7: byte 0xed is not text"},
      {"\xEF\xBB\xBFn: 1", "a:1:1: a byte order mark (U+FEFF) stands before the first"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const Said said = error_of([&] { parse_spec_text(row.text, "a"); });
    CHECK(said.code == 113);
    CHECK_THAT(said.text, StartsWith(row.what));
  }
}

TEST_CASE("a line of ten megabytes is refused without echoing it") {
  const Said whole = error_of([] { parse_spec_text(std::string(10'000'000, 'x'), "a"); });
  CHECK(whole.code == 113);
  CHECK_THAT(whole.text, StartsWith("a:1:65537: the line is too long (10000000 bytes"));
  CHECK(whole.text.size() < 300);
  const Said value = error_of([] { parse_spec_text("n: " + std::string(60'000, '9'), "a"); });
  CHECK_THAT(value.text, StartsWith("a:1:4: `99999"));
  CHECK(value.text.size() < 500);
  const Said key = error_of([] { parse_spec_text(std::string(60'000, 'k') + " 1", "a"); });
  CHECK_THAT(key.text, StartsWith("a:1:60002: `1` where `:` is expected"));
  CHECK(key.text.size() < 500);
}

TEST_CASE("a file name cannot forge a line of the message") {
  const Said said = error_of([] { parse_spec_line("$", "a\ncheck: pass", 1); });
  CHECK_THAT(said.text, StartsWith("a\\ncheck: pass:1:1: "));
}
