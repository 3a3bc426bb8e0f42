#include "core/sweep.h"

#include "catch.h"
#include "core/case_filter.h"
#include "core/error.h"

using namespace kbench;

using Lines = std::vector<std::string>;

TEST_CASE("braces stand for ordinary lines, the last ones vary fastest") {
  struct Row {
    const char* text;
    Lines lines;
  };
  const std::vector<Row> rows = {
      {"n: 3; case: dense", {"n: 3; case: dense"}},
      {"n: {1,2}", {"n: 1", "n: 2"}},
      {"n: { 1 , 2 }", {"n: 1", "n: 2"}},
      {"n: {1,2}; c: {a,b}", {"n: 1; c: a", "n: 1; c: b", "n: 2; c: a", "n: 2; c: b"}},
      {"n: {2..5}", {"n: 2", "n: 3", "n: 4", "n: 5"}},
      {"n: {32..512*4}", {"n: 32", "n: 128", "n: 512"}},
      {"n: {32..500*4}", {"n: 32", "n: 128"}},
      {"n: {-2..2+2}", {"n: -2", "n: 0", "n: 2"}},
      {"n: {-4..-1+2}", {"n: -4", "n: -2"}},
      {"n: {7,10..11}", {"n: 7", "n: 10", "n: 11"}},
      {"n: {9223372036854775806..9223372036854775807}",
       {"n: 9223372036854775806", "n: 9223372036854775807"}},
      {"n: {5000000000000000000..9223372036854775807*2}", {"n: 5000000000000000000"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(expand_sweep(row.text, "--case") == row.lines);
  }
}

TEST_CASE("a mistake in braces is shown with its place") {
  struct Row {
    const char* text;
    const char* words;
  };
  for (const Row& row : {Row{"n: {1,2", "--case:1:4: `{` is not closed"},
                         Row{"n: {1,{2}}", "--case:1:4: `{` is not closed"},
                         Row{"n: 1}", "--case:1:5: `}` without `{`"},
                         Row{"n: {}", "--case:1:5: an empty value in braces"},
                         Row{"n: {1,}", "--case:1:7: an empty value in braces"},
                         Row{"n: {1..}", "--case:1:5: `1..` is no range"},
                         Row{"n: {a..b}", "--case:1:5: `a..b` is no range"},
                         Row{"n: {1..8*x}", "--case:1:5: `1..8*x` is no range"},
                         Row{"n: {8..1}", "--case:1:5: the range `8..1` does not go up"},
                         Row{"n: {1..8*1}", "--case:1:5: the range `1..8*1` does not go up"},
                         Row{"n: {0..8*2}", "--case:1:5: the range `0..8*2` does not go up"},
                         Row{"n: {1..8+0}", "--case:1:5: the range `1..8+0` does not go up"},
                         Row{"n: {1..200000}", "--case:1:5: more than 100000 cases"},
                         Row{"n: {1..1000}; c: {1..1000}", "--case:1:18: more than 100000"}}) {
    CAPTURE(row.text);
    try {
      expand_sweep(row.text, "--case");
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::case_file);
      CHECK_THAT(error.what(), StartsWith(row.words));
      CHECK_THAT(error.what(), ContainsSubstring("^"));
    }
  }
}

TEST_CASE("a filter keeps the cases for which all conditions hold") {
  const Case spec{"qr_v2", "", 64, 512, 2, 1, "mixed", ""};
  struct Row {
    const char* text;
    bool kept;
  };
  for (const Row& row :
       {Row{"n=512", true}, Row{"n != 512", false}, Row{"n < 512", false}, Row{"n <= 512", true},
        Row{"n > 511", true}, Row{"n >= 513", false}, Row{"batch = {1,64}", true},
        Row{"batch != {1,64}", false}, Row{"case = Mixed", true}, Row{"case = {dense,band}", false},
        Row{"problem = qr_v2; cond = 2", true}, Row{"problem = qr_v2; cond = 1", false},
        Row{"problem != qr_v2", false}}) {
    CAPTURE(row.text);
    CHECK(matches(parse_case_filter(row.text, "--filter"), spec) == row.kept);
  }
}

TEST_CASE("a condition that cannot be understood is refused in words") {
  struct Row {
    const char* text;
    const char* words;
  };
  for (const Row& row :
       {Row{"n 512", "no = != < <= > or >= in it"}, Row{"nn = 3", "did you mean `n`?"},
        Row{"n = x", "takes whole numbers"}, Row{"n = ", "takes whole numbers"},
        Row{"case = ", "value is missing"}, Row{"case < a", "knows = and != alone"},
        Row{"n < {1,2}", "braces go with = and != alone"},
        Row{"n = 3;", "no = != < <= > or >= in it"}, Row{"n ! 3", "no = != < <= > or >= in it"}}) {
    CAPTURE(row.text);
    try {
      parse_case_filter(row.text, "--filter");
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::usage);
      CHECK_THAT(error.what(), ContainsSubstring("is no condition for `--filter`"));
      CHECK_THAT(error.what(), ContainsSubstring(row.words));
    }
  }
}
