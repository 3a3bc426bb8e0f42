// The rule of a -MMD file becomes a list of paths.
#include "runner/depfile.h"

#include "catch.h"

using kbench::parse_depfile;

TEST_CASE("a dependency file gives its paths, unescaped") {
  struct Row {
    std::string text;
    std::vector<std::string> paths;
  };
  const std::vector<Row> rows = {
      {"k.o: k.cc src/h.h\n", {"k.cc", "src/h.h"}},
      {"/p/k.so : /p/k.cu \\\n    /p/a.h \\\n    /p/b.h \n", {"/p/k.cu", "/p/a.h", "/p/b.h"}},
      {"k.o: my\\ $$(x)\\ h.h a\\#b\n", {"my $$(x) h.h", "a#b"}},
      {"k.o: c:/x.h d:e\n", {"c:/x.h", "d:e"}},
      {"k.o:\\\r\n a.h\r\n", {"a.h"}},
      {"k.o:\n", {}},
      {"", {}},
      {"no rule at all", {}},
      {"k.o: a\\b end\\", {"a\\b", "end\\"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(parse_depfile(row.text) == row.paths);
  }
}
