// The program itself with the host's real compilers: from `kbench new` to a verdict.
#include <nlohmann/json.hpp>

#include "catch.h"
#include "runner_compile/program.h"

using namespace kbench;
using namespace kbench::test;

TEST_CASE("a first kernel of each host language passes and is measured without another word") {
  const TempFolder folder;
  const std::string shape = shape_file(folder);
  for (const std::string problem : {"qr_v2", "eigh_py"}) {
    for (const std::string extension : {".cpp", ".c"}) {
      const std::string name = "my_" + problem;
      const std::string source = (folder / (name + extension)).string();
      CAPTURE(source);
      REQUIRE(kbench_run(folder, {"new", problem, source}).succeeded());
      const CommandResult test = kbench_run(folder, {"test", shape, "--kernel", source});
      INFO(test.output);
      CHECK(test.succeeded());
      CHECK_THAT(test.output, ContainsSubstring("compiled " + source + " in "));
      CHECK_THAT(test.output, ContainsSubstring(problem + ": kernel " + name + ", device host"));
      const std::string results = (folder / "r.json").string();
      const CommandResult benchmark =
          kbench_run(folder, {"--kernel", source, "benchmark", shape, "--repeats", "5", "--json",
                              results, "--nonce", "3"});
      INFO(benchmark.output);
      CHECK(benchmark.succeeded());
      CHECK_THAT(benchmark.output, ContainsSubstring(source + ": cached ("));
      const nlohmann::json document = nlohmann::json::parse(read(results));
      CHECK(document["cases"][0]["kernel"]["source"] == source);
      CHECK(document["cases"][0]["kernel"]["name"] == name);
      CHECK(document["cases"][0]["nonce"] == 3);
      CHECK(document["cases"][0]["samples_ns"].size() == 5);
    }
  }
}

TEST_CASE("a wrong kernel fails, a broken one shows its line, and both exit 112") {
  const TempFolder folder;
  const std::string shape = shape_file(folder);
  const CommandResult wrong = kbench_run(
      folder,
      {"test", shape, "--kernel", write(folder / "wrong.cpp", simple_source()), "--only", "0"});
  INFO(wrong.output);
  CHECK(wrong.status == 112);
  CHECK_THAT(wrong.output, ContainsSubstring("kernel wrong, device host"));
  const std::string source = write(folder / "broken.cpp", simple_source("int x = missing;"));
  const CommandResult broken = kbench_run(folder, {"test", shape, "--kernel", source});
  INFO(broken.output);
  CHECK(broken.status == 112);
  CHECK_THAT(broken.output, ContainsSubstring(source + ":2:9: error:"));
  CHECK_THAT(broken.output, ContainsSubstring("qr_v2: kernel broken\n"));
  CHECK_THAT(broken.output, ContainsSubstring("0 passed, 1 failed\n"));
}

TEST_CASE("a source that makes no plug-in fails its cases with what it lacks") {
  const TempFolder folder;
  const std::string bare = write(folder / "bare.cpp", "extern \"C\" void custom_kernel() {}\n");
  const std::string empty = write(folder / "empty.cpp", "");
  const std::string lacks = "` exports no `kbench_kernel_desc";
  struct Row {
    std::vector<std::string> words;
    std::string reason;
  };
  const Row rows[] = {
      {{"--kernel", bare}, "kernel `" + bare + lacks},
      {{"--kernel", empty}, "kernel `" + empty + lacks},
      {{"--kernel", bare, "--nvcc-flags", "-c"}, "cannot load kernel `" + bare + "` (" + bare},
  };
  for (const Row& row : rows) {
    for (const bool named : {true, false}) {
      std::vector<std::string> words = {"test", shape_file(folder)};
      words.insert(words.end(), row.words.begin(), row.words.end());
      if (named) words.insert(words.end(), {"--problem", "qr_v2"});
      const CommandResult result = kbench_run(folder, words);
      INFO(result.output);
      CHECK(result.status == 112);
      CHECK_THAT(result.output, ContainsSubstring(row.reason));
      CHECK_THAT(result.output, ContainsSubstring(" failed\n"));
    }
  }
}
