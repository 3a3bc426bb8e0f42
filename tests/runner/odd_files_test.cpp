// Whatever stands behind a name that the user gives: it is read, or refused in words, and never
// waited for without end.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "catch.h"
#include "kbench_process.h"

namespace {

constexpr const char* k_case = "batch: 2; n: 4; cond: 1; seed: 5\n";

int shell(const std::string& line) { return WEXITSTATUS(std::system(line.c_str())); }

}  // namespace

TEST_CASE("pipes, devices, folders and endless files are refused as a case file") {
  const Tree tree;
  const std::string large = tree.write("large.txt", "");
  std::filesystem::resize_file(large, (std::uintmax_t{64} << 20) + 1);
  struct Row {
    std::string path, why;
  };
  const std::vector<Row> rows = {{tree.make_fifo("fifo"), "it is no regular file"},
                                 {"/dev/zero", "it is no regular file"},
                                 {"/proc/version", "it is made up by the kernel"},
                                 {tree.path("bin"), "it is a folder"},
                                 {large, "it has more than 64 MiB"}};
  for (const Row& row : rows) {
    CAPTURE(row.path);
    const Outcome outcome = kbench_run(tree, {"test", row.path});
    CHECK(outcome.status == 113);
    CHECK_THAT(outcome.err, StartsWith(row.path + ":1:1: cannot read the case file (" + row.why));
  }
  std::filesystem::rename(large, tree.path("large.cpp"));
  const Outcome source =
      kbench_run(tree, {"test", tree.write("f.txt", k_case), "--kernel", tree.path("large.cpp")});
  CHECK(source.status == 2);
  CHECK_THAT(source.err, ContainsSubstring("(it has more than 64 MiB)"));
}

TEST_CASE("pipes, devices, folders and endless files are refused as results") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_case);
  const std::string fifo = tree.make_fifo("fifo.json"), good = tree.path("good.json");
  std::filesystem::create_directory(tree.path("folder.json"));
  std::filesystem::create_symlink("/dev/zero", tree.path("zero.json"));
  const std::string large = tree.write("large.json", "");
  std::filesystem::resize_file(large, (std::uintmax_t{1} << 30) + 1);
  CHECK(kbench_run(tree, {"test", file, "--problem", "qr_v2", "--json", good}).status == 0);
  struct Row {
    std::string path, why;
  };
  const std::vector<Row> rows = {{fifo, "it is no regular file"},
                                 {tree.path("zero.json"), "it is no regular file"},
                                 {tree.path("folder.json"), "it is a folder"},
                                 {large, "it has more than 1024 MiB"}};
  for (const Row& row : rows) {
    const std::vector<std::vector<std::string>> lines = {
        {"compare", good, row.path},
        {"report", row.path, "-o", tree.path("page.html")},
        {"benchmark", file, "--problem", "qr_v2", "--baseline", row.path}};
    for (const auto& line : lines) {
      CAPTURE(line);
      // The large one is read to its limit: once is enough.
      if (row.path == large && line.front() != "compare") continue;
      const Outcome outcome = kbench_run(tree, line);
      CHECK(outcome.status == 2);
      CHECK_THAT(outcome.err, ContainsSubstring("cannot read the results `" + row.path + "` (" +
                                                row.why + "); check the path"));
    }
  }
}

TEST_CASE("results may come through a pipe") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_case);
  CHECK(kbench_run(tree, {"test", file, "--problem", "qr_v2", "--json", tree.path("r.json")})
            .status == 0);
  CHECK(shell("cat " + tree.path("r.json") + " | " + tree.path("bin/kbench") +
              " report /dev/stdin -o " + tree.path("page.html") + " > /dev/null") == 0);
}

TEST_CASE("a case file may come through a pipe, and one that never ends is not waited for") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_case);
  const std::string kbench = tree.path("bin/kbench") + " test /dev/stdin --problem qr_v2";
  const std::string quiet = " > " + tree.path("out") + " 2> " + tree.path("err");
  CHECK(shell("cat " + file + " | " + kbench + quiet) == 0);
  // The test holds the writing end.
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const std::string from = " < /dev/fd/" + std::to_string(ends[0]);
  CHECK(shell(kbench + " --time-limit 0.3" + from + quiet) == 113);
  CHECK_THAT(tree.read("err"), ContainsSubstring("(the run was stopped before its end came)"));
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("an input in Fortran order is refused before anything runs") {
  const Tree tree;
  std::string dict = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }";
  dict.append(117 - dict.size(), ' ');
  const std::string npy = tree.write(
      "a.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + dict + "\n" + std::string(16, '\0'));
  const Outcome outcome = kbench_run(tree, {"test", "--input", npy, "--problem", "qr_v2"},
                                     {{"FAKE_LOG", tree.path("log")}});
  CHECK(outcome.status == 113);
  CHECK_THAT(outcome.err, ContainsSubstring("(it is in Fortran order)"));
  CHECK(tree.read("log").empty());
}

TEST_CASE("a plug-in that dies or hangs while it is loaded is failed cases and a verdict") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_case);
  const std::string own = tree.write("own.so", "qr_v2 host");
  const PopcornOutcome dies =
      popcorn_run(tree, {"test", file, "--kernel", own}, {{"FAKE_HELLO", "dies loading"}});
  CHECK(dies.status == 112);
  CHECK_THAT(dies.lines, ContainsSubstring("test.0.error: cannot load kernel `" + own +
                                           "` (worker killed by SIGKILL before replying"));
  const PopcornOutcome hangs =
      popcorn_run(tree, {"test", file, "--kernel", own, "--time-limit", "0.5"},
                  {{"FAKE_HELLO", "hangs loading"}});
  CHECK(hangs.status == 112);
  CHECK_THAT(hangs.lines, ContainsSubstring("test.0.error: not run (time limit)\n"));
  CHECK_THAT(hangs.lines, ContainsSubstring("\ncheck: fail\n"));
}

TEST_CASE("a constructor that hangs is told with the limit of a call, on every way to a plug-in") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_case);
  const std::string own = tree.write("own.so", "qr_v2 host");
  const std::vector<std::vector<std::string>> lines = {
      {"test", file, "--kernel", own},
      {"test", file, "--kernel", own, "--problem", "qr_v2"},
      {"compare", own, "lapack", file, "--problem", "qr_v2"}};
  for (std::vector<std::string> line : lines) {
    line.insert(line.end(), {"--call-timeout", "3"});
    CAPTURE(line);
    const Outcome outcome = kbench_run(tree, line, {{"FAKE_HELLO", "hangs in constructor"}});
    CHECK(outcome.status == 112);
    CHECK_THAT(outcome.out, ContainsSubstring("loading the plug-in did not return within 0.125 s: "
                                              "killed (phase: set-up)"));
  }
}

TEST_CASE("failing cases are saved in a folder, or under a name for one") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_case);
  for (const std::string& folder : {file, file + "/below"}) {
    const Outcome outcome =
        kbench_run(tree, {"test", file, "--problem", "qr_v2", "--save-failing", folder},
                   {{"FAKE_LOG", tree.path("log")}});
    CHECK(outcome.status == 2);
    CHECK(outcome.err ==
          "cannot save failing cases in `" + folder + "` (`" + file +
              "` is no folder); give `--save-failing` a folder, or a name for one\n");
    CHECK(tree.read("log").empty());
  }
  for (const std::string& folder : {tree.path("bin"), tree.path("new/below")}) {
    CHECK(kbench_run(tree, {"test", file, "--problem", "qr_v2", "--save-failing", folder}).status ==
          0);
  }
}

TEST_CASE("control bytes of the command line do not reach the terminal") {
  const Tree tree;
  const std::string evil = "te\x1b[2J\x07st";
  const std::string file = tree.write("f.txt", k_case);
  const std::vector<std::vector<std::string>> lines = {{evil},
                                                       {"test", "--" + evil},
                                                       {"test", file, "--seed", evil},
                                                       {"test", file, file + evil},
                                                       {"test", evil},
                                                       {"test", file, "--kernel", evil},
                                                       {"test", file, "--json", "/no/" + evil}};
  for (const auto& line : lines) {
    CAPTURE(line);
    const Outcome outcome = kbench_run(tree, line);
    CHECK(outcome.status != 0);
    CHECK_FALSE(outcome.err.empty());
    CHECK(outcome.err.find_first_of("\x1b\x07") == std::string::npos);
  }
}

TEST_CASE("a small limit of open files is told for what it is") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_case);
  // The shell itself would need a high number for a redirection that it undoes.
  const int status = shell("exec > " + tree.path("lines") + " 2> " + tree.path("err") +
                           "; ulimit -n 9; POPCORN_FD=1 exec " + tree.path("bin/kbench") +
                           " test " + file + " --problem qr_v2");
  CHECK(status == 112);
  CHECK_THAT(tree.read("lines"), ContainsSubstring("cannot start a worker ("));
  CHECK_THAT(tree.read("lines"), ContainsSubstring("Too many open files"));
  CHECK_THAT(tree.read("lines"), ContainsSubstring("\ncheck: fail\n"));
}
