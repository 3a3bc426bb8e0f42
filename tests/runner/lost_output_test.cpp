// Output that does not arrive: the run is refused where that is known before the first case, and
// nothing that is lost ends with 0.
#include <fcntl.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "kbench_process.h"
#include "runner/fd.h"

using namespace kbench;
using nlohmann::json;

namespace {

constexpr const char* k_dense = "batch: 2; n: 4; cond: 1; seed: 5\n";
constexpr const char* k_removes = "batch: 2; n: 4; cond: 1; seed: 6; case: removes\n";
constexpr const char* k_wrong = "batch: 2; n: 4; cond: 1; seed: 7; case: wrong\n";
constexpr const char* k_flags[] = {"--json", "--csv", "--markdown", "--junit"};

int shell(const std::string& line) { return WEXITSTATUS(std::system(line.c_str())); }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

/// kbench with a stdout that takes nothing.
Outcome run_full(const Tree& tree, const std::vector<std::string>& arguments) {
  const Fd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  return Kbench(tree, arguments, {}, {}, full.get()).wait();
}

}  // namespace

TEST_CASE("results whose folder goes away during the run end with 2, said once") {
  for (const std::string flag : k_flags) {
    CAPTURE(flag);
    const Tree tree;
    const std::string file = tree.write("f.txt", std::string(k_removes) + k_dense + k_dense);
    std::filesystem::create_directory(tree.path("results"));
    const std::string path = tree.path("results/r");
    const PopcornOutcome outcome =
        popcorn_run(tree, {"benchmark", file, "--problem", "qr_v2", flag, path},
                    {{"FAKE_REMOVES", tree.path("results")}});
    CHECK(outcome.status == 2);
    // The first failure, and the one that decides.
    CHECK(count(outcome.err, "cannot write the results to `" + path +
                                 "` (No such file or directory); give `" + flag +
                                 "` a writable path\n") == 2);
    CHECK_THAT(outcome.lines, ContainsSubstring("check: pass\n"));
  }
}

TEST_CASE("a failed case is told before a lost export, and the results know of another's loss") {
  const Tree tree;
  const std::string file = tree.write("f.txt", std::string(k_removes) + k_wrong);
  const std::vector<std::string> line = {"benchmark", file,          "--problem",
                                         "qr_v2",     "--csv",       tree.path("results/r.csv"),
                                         "--json",    tree.path("r")};
  const Environment environment = {{"FAKE_REMOVES", tree.path("results")}};
  std::filesystem::create_directory(tree.path("results"));
  CHECK(kbench_run(tree, line, environment).status == 112);
  tree.write("f.txt", k_removes);
  std::filesystem::create_directory(tree.path("results"));
  CHECK(kbench_run(tree, line, environment).status == 2);
  CHECK(json::parse(tree.read("r"))["exit_code"] == 2);
}

TEST_CASE("a first document that cannot be written refuses the run") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_dense);
  const std::string old = tree.write("old", "old");
  for (const std::string flag : k_flags) {
    CAPTURE(flag);
    // What is said goes through a pipe, which has no such limit.
    shell("{ (ulimit -f 0; exec " + tree.path("bin/kbench") + " benchmark " + file +
          " --problem qr_v2 --quiet " + flag + " " + old + "); echo status $?; } 2>&1 | cat > " +
          tree.path("out"));
    CHECK(tree.read("out") == "cannot write the results to `" + old + "` (File too large); give `" +
                                  flag + "` a writable path\nstatus 2\n");
    CHECK(tree.read("old") == "old");
  }
}

TEST_CASE("results sent to a full device end with 2 and name the reason") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_dense);
  const Outcome outcome =
      run_full(tree, {"test", file, "--problem", "qr_v2", "--json", "/dev/stdout"});
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, ContainsSubstring("cannot write the results to `/dev/stdout` (No space "
                                            "left on device); give `--json` a writable path\n"));
}

TEST_CASE(
    "a stdout that takes nothing is said, and is an error where nothing else has the product") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_dense);
  const std::string words = "cannot write to stdout (No space left on device); send it where ";
  const std::string json_path = tree.path("r.json");
  struct Row {
    std::vector<std::string> line;
    int status;
  };
  const std::vector<Row> rows = {{{"list"}, 2},
                                 {{"list", "--json"}, 2},
                                 {{"man"}, 2},
                                 {{"completion", "bash"}, 2},
                                 {{"--version"}, 2},
                                 {{"test", "--help"}, 2},
                                 {{"test", file, "--problem", "qr_v2"}, 2},
                                 {{"test", file, "--problem", "qr_v2", "--json", json_path}, 0},
                                 {{"compare", json_path, json_path}, 2},
                                 {{"new", "qr_v2", tree.path("a.cpp")}, 0}};
  for (const Row& row : rows) {
    CAPTURE(row.line);
    const Outcome outcome = run_full(tree, row.line);
    CHECK(outcome.status == row.status);
    CHECK(count(outcome.err, words) == 1);
  }
}

TEST_CASE("a reader that has left, as head does, is no error") {
  const Tree tree;
  const std::string kbench = tree.path("bin/kbench");
  CHECK(shell("{ " + kbench + " man; echo $? > " + tree.path("status") + "; } | true") == 0);
  CHECK(tree.read("status") == "0\n");
}
