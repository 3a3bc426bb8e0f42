// Runs with very many cases: what is written for each must not depend on how many there are.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "catch.h"
#include "kbench_process.h"

namespace {

constexpr int k_cases = 20000;
/// Far above what the work takes, far below what a cost that grows with the square takes.
constexpr double k_limit_s = 30;

std::string many_cases(const std::string& first) {
  std::string text = "batch: 2; n: 4; cond: 1; seed: 5; case: " + first + "\n";
  for (int i = 1; i < k_cases; ++i) text += "batch: 2; n: 4; cond: 1; seed: 5\n";
  return text;
}

/// Processor time of all children that have ended: no busy machine makes it longer.
double seconds_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

TEST_CASE("twenty thousand cases that are not run end in seconds, all of them in every output") {
  const Tree tree;
  const std::string file = tree.write("f.txt", many_cases("wrong"));
  const std::string lines = tree.write("lines", "");
  const int fd = open(lines.c_str(), O_WRONLY);
  const double before_s = seconds_of_children();
  Kbench kbench(tree, {"leaderboard", file, "--problem", "qr_v2", "--json", tree.path("r.json")},
                {{"POPCORN_FD", std::to_string(fd)}}, {fd});
  close(fd);
  const Outcome outcome = kbench.wait();
  CHECK(outcome.status == 112);
  CHECK(seconds_of_children() - before_s < k_limit_s);
  CHECK_THAT(outcome.out, ContainsSubstring("\n0 passed, 20000 failed\n"));
  CHECK_THAT(tree.read("lines"),
             ContainsSubstring("benchmark.19999.error: not run (case 0 failed)\ncheck: fail\n"));
  const std::string document = tree.read("r.json");
  CHECK_THAT(document, ContainsSubstring("\"index\": 19999"));
  CHECK_THAT(document, ContainsSubstring("\"verdict\": \"fail\""));
}

TEST_CASE("lines of more cases than a pipe holds end in 111, and in seconds") {
  const Tree tree;
  const std::string file = tree.write("f.txt", many_cases("wrong"));
  const double before_s = seconds_of_children();
  const PopcornOutcome outcome = popcorn_run(tree, {"leaderboard", file, "--problem", "qr_v2"});
  CHECK(outcome.status == 111);
  CHECK(seconds_of_children() - before_s < k_limit_s);
  CHECK_THAT(outcome.err, ContainsSubstring("did not fit into the pipe of POPCORN_FD"));
  CHECK_THAT(outcome.lines, ContainsSubstring("\ncheck: fail\n"));
}

TEST_CASE("the results of many cases that are run are written for a small part of the time") {
  const Tree tree;
  std::string text;
  for (int i = 0; i < 1500; ++i) text += "batch: 2; n: 4; cond: 1; seed: 5\n";
  const std::string file = tree.write("f.txt", text);
  const double before_s = seconds_of_children();
  const Outcome outcome =
      kbench_run(tree, {"test", file, "--problem", "qr_v2", "--json", tree.path("r.json")});
  CHECK(outcome.status == 0);
  CHECK(seconds_of_children() - before_s < k_limit_s);
  CHECK_THAT(tree.read("r.json"), ContainsSubstring("\"index\": 1499"));
}
