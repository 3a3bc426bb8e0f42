// `--dry-run`: every case with what it takes, and nothing that runs.
#include "runner/dry_run.h"

#include <nlohmann/json.hpp>

#include "catch.h"
#include "kbench_process.h"

using Json = nlohmann::json;

namespace {

constexpr const char* k_first = "batch: 2; n: 4; cond: 1; seed: 5\n";
constexpr const char* k_second = "batch: 3; n: 4; cond: 1; seed: 6\n";

/// Nothing of `tree` was started: no worker logs anything.
Outcome dry(const Tree& tree, std::vector<std::string> arguments, Environment environment = {}) {
  arguments.push_back("--dry-run");
  environment["FAKE_LOG"] = tree.path("log");
  tree.write("log", "");
  Outcome outcome = kbench_run(tree, arguments, environment);
  CHECK(tree.read("log").empty());
  CHECK(outcome.err.empty() == (outcome.status == 0));
  return outcome;
}

/// Results of the first case, which took `wall_s` there.
std::string results(const Tree& tree, double wall_s) {
  const std::string path = tree.path("old.json"), file = tree.write("old.txt", k_first);
  REQUIRE(kbench_run(tree, {"benchmark", file, "--problem", "qr_v2", "--json", path}).status == 0);
  Json document = Json::parse(tree.read("old.json"));
  document["cases"][0]["wall_s"] = wall_s;
  return tree.write("old.json", document.dump());
}

}  // namespace

TEST_CASE("a dry run prints lines, kernel and memory and runs nothing") {
  const Tree tree;
  const std::string file = tree.write("f.txt", std::string(k_first) + k_second);
  const Outcome outcome =
      dry(tree, {"test", file, "--problem", "qr_v2"}, {{"FAKE_HELLO", "no device"}});
  CHECK(outcome.status == 0);
  CHECK(outcome.out ==
        "qr_v2: kernel blocked on cuda, lapack on host\n"
        "  #  case                                  memory  time\n"
        "  0  batch: 2; n: 4; cond: 1; seed: 5     2.0 KiB  unknown\n"
        "  1  batch: 3; n: 4; cond: 1; seed: 6     3.0 KiB  unknown\n"
        "2 cases; nothing was run\n"
        "memory: arrays and checker's scratch, 3.0 KiB at most; the buffer that flushes the cache "
        "and the kernel's own memory come on top\n"
        "time: 2 unknown (each is one call and its check; `--baseline RESULTS.json` tells more)\n");
  CHECK_THAT(dry(tree, {"test", file, "--problem", "qr_v2", "--device", "host"}).out,
             StartsWith("qr_v2: kernel lapack on host\n"));
  const std::string source = tree.write("my.cpp", "KBENCH_SIMPLE_KERNEL(eigh_py, ...)");
  CHECK_THAT(dry(tree, {"test", file, "--kernel", source}).out,
             StartsWith("eigh_py: kernel " + source + "\n"));
  CHECK_THAT(dry(tree, {"test", file, "--problem", "qr_v2", "--kernel", "blocked"}).out,
             StartsWith("qr_v2: kernel blocked\n"));
}

TEST_CASE("a dry run takes sweeps, shape files and task files as a run does") {
  const Tree tree;
  const Outcome sweep = dry(tree, {"benchmark", "--problem", "qr_v2", "--case",
                                   "batch: 2; n: {4..16*2}; cond: 1; seed: 5", "--only", "0,2"});
  CHECK(sweep.status == 0);
  CHECK_THAT(sweep.out, ContainsSubstring("batch: 2; n: 4; cond: 1; seed: 5 "));
  CHECK_THAT(sweep.out, ContainsSubstring("batch: 2; n: 16; cond: 1; seed: 5"));
  // Fifty inputs of two matrices.
  CHECK_THAT(sweep.out, ContainsSubstring("  100.0 KiB  unknown\n"));
  CHECK_THAT(sweep.out, ContainsSubstring("2 cases; nothing was run\n"));
  CHECK_THAT(sweep.out, ContainsSubstring("time: 2 unknown (each takes inputs, warm-up where the "
                                          "mode has one, up to 200 timed repeats and checks; no "
                                          "loop goes on once it has taken 120 s; `--baseline"));
  const std::string rows = "benchmarks:\n  - {batch: 2, n: 4, cond: 1, seed: 5}\n";
  for (const std::string problem : {"qr_v2", "eigh_py"}) {
    tree.write("share/kbench/specs/" + problem + ".yaml", "problem: " + problem + "\n" + rows);
  }
  const Outcome shipped = dry(tree, {"leaderboard"});
  CHECK(shipped.status == 0);
  CHECK_THAT(shipped.out, ContainsSubstring("qr_v2: kernel "));
  CHECK_THAT(shipped.out, ContainsSubstring("\neigh_py: kernel "));
  CHECK_THAT(dry(tree, {"benchmark", "--time-limit", "60"}).out,
             ContainsSubstring("\nthe run ends after 60 s at the latest\n"));
}

TEST_CASE("a dry run knows the time of cases that a former run measured") {
  const Tree tree;
  const std::string old_path = results(tree, 12.25);
  const std::string file = tree.write("f.txt", std::string(k_first) + k_second);
  const std::vector<std::string> run = {"benchmark", file, "--problem", "qr_v2"};
  std::vector<std::string> baseline = run, resume = run;
  baseline.insert(baseline.end(), {"--baseline", old_path});
  resume.insert(resume.end(), {"--resume", old_path});
  const std::string told = dry(tree, baseline).out;
  CHECK_THAT(told, ContainsSubstring("seed: 5   100.0 KiB  about 12.2 s\n"));
  CHECK_THAT(told, ContainsSubstring("seed: 6   150.0 KiB  unknown\n"));
  CHECK_THAT(told, ContainsSubstring("time: about 12.2 s for 1 of 2 cases, as long as they took in "
                                     "`" +
                                     old_path + "`; 1 unknown ("));
  const std::string resumed = dry(tree, resume).out;
  CHECK_THAT(resumed, ContainsSubstring("seed: 5   100.0 KiB  taken over\n"));
  CHECK_THAT(resumed, ContainsSubstring("time: 1 taken over from `" + old_path + "`, should"));
  results(tree, 0);
  CHECK_THAT(dry(tree, baseline).out, ContainsSubstring("time: 2 unknown ("));
}

TEST_CASE("a dry run refuses what a run would refuse, and places for results that it has not") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_first);
  struct Row {
    std::vector<std::string> arguments;
    int status;
    std::string words;
  };
  const std::vector<Row> rows = {
      {{"test", tree.path("none.txt")}, 113, "none.txt"},
      {{"test", file, "--kernel", "lapak"}, 2, "did you mean `lapack`?"},
      {{"benchmark", file, "--baseline", tree.path("none.json")}, 2, "cannot read the results"},
      {{"test", file, "--json", tree.path("r")}, 2, "leave out `--json` or `--dry-run`"},
      {{"test", file, "--junit", tree.path("r")}, 2, "leave out `--junit` or `--dry-run`"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.words);
    const Outcome outcome = dry(tree, row.arguments);
    CHECK(outcome.status == row.status);
    CHECK_THAT(outcome.err, ContainsSubstring(row.words));
    CHECK(outcome.out.empty());
  }
  const PopcornOutcome popcorn = popcorn_run(tree, {"test", file, "--dry-run"});
  CHECK(popcorn.status == 2);
  CHECK_THAT(popcorn.err, ContainsSubstring("`--dry-run` is refused while `POPCORN_FD` is set"));
}
