// POPCORN_FD: which descriptors are taken, and that nobody else can write there.
#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "catch.h"
#include "kbench_process.h"

namespace {

constexpr const char* k_case = "batch: 2; n: 4; cond: 1; seed: 5\n";

std::string lines_of(const std::string& name) {
  return name + "-count: 1\n" + name + ".0.spec: batch: 2; n: 4; cond: 1; seed: 5\n" + name +
         ".0.status: pass\n" + name + ".0.message: scaled_residual=0.5\ncheck: pass\n";
}

}  // namespace

TEST_CASE("an unusable POPCORN_FD ends the run with 111 before anything starts") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_case);
  const std::string log = tree.path("log");
  struct Row {
    std::string value, words;
  };
  const std::vector<Row> rows = {
      {"abc", "not a descriptor number"},
      {"", "it is empty"},
      {"-1", "not a descriptor"},
      {"7x", "not a descriptor number"},
      {"200", "not open"},
      {" 5", "not a descriptor"},
      {"99999999999", "not a descriptor"},
      {"0", "open for reading only"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.value);
    const int null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    const Outcome outcome = kbench_run(tree, {"test", file, "--problem", "qr_v2"},
                                       {{"POPCORN_FD", row.value}, {"FAKE_LOG", log}});
    CHECK(outcome.status == 111);
    CHECK_THAT(outcome.err, StartsWith("`POPCORN_FD=" + row.value + "` is unusable"));
    CHECK_THAT(outcome.err, ContainsSubstring(row.words));
    CHECK(tree.read("log").empty());
    close(null);
  }
}

TEST_CASE("result lines go to a regular file and to /dev/null as to a pipe") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_case);
  for (const std::string& target : {tree.path("lines"), std::string("/dev/null")}) {
    const int fd = open(target.c_str(), O_WRONLY | O_CREAT, 0600);
    Kbench kbench(tree, {"test", file, "--problem", "qr_v2"}, {{"POPCORN_FD", std::to_string(fd)}},
                  {fd});
    close(fd);
    CHECK(kbench.wait().status == 0);
  }
  CHECK(tree.read("lines") == lines_of("test"));
}

TEST_CASE("when stdout is the result descriptor the table goes to stderr") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_case);
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  // By its number, and as a second name of the same pipe.
  for (const std::string& number : {std::string("1"), std::to_string(ends[1])}) {
    Kbench kbench(tree, {"test", file, "--problem", "qr_v2"}, {{"POPCORN_FD", number}}, {ends[1]},
                  ends[1]);
    const Outcome outcome = kbench.wait();
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.err, ContainsSubstring("1 passed, 0 failed"));
    std::array<char, 4096> bytes;
    const ssize_t count = read(ends[0], bytes.data(), bytes.size());
    REQUIRE(count > 0);
    CHECK(std::string(bytes.data(), static_cast<std::size_t>(count)) == lines_of("test"));
  }
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("a full pipe ends in 111 with words and without blocking") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_case);
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  REQUIRE(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) > 0);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const std::string page(4096, 'x');
  while (write(ends[1], page.data(), page.size()) > 0) {
  }
  fcntl(ends[1], F_SETFL, 0);
  Kbench kbench(tree, {"test", file, "--problem", "qr_v2"},
                {{"POPCORN_FD", std::to_string(ends[1])}}, {ends[1]});
  const Outcome outcome = kbench.wait();
  CHECK(outcome.status == 111);
  CHECK_THAT(outcome.err, ContainsSubstring("the verdict could not be written to POPCORN_FD"));
  CHECK_THAT(outcome.out, ContainsSubstring("1 passed"));
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("a reader that is gone ends in 111 and not in SIGPIPE") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_case);
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  close(ends[0]);
  Kbench kbench(tree, {"test", file, "--problem", "qr_v2"},
                {{"POPCORN_FD", std::to_string(ends[1])}}, {ends[1]});
  const Outcome outcome = kbench.wait();
  CHECK(outcome.status == 111);
  CHECK_THAT(outcome.err, ContainsSubstring("its reader is gone"));
  CHECK_THAT(outcome.out, ContainsSubstring("1 passed"));
  close(ends[1]);
}

TEST_CASE("many long failures are shortened until all cases and the verdict fit into the pipe") {
  const Tree tree;
  std::string text;
  constexpr int k_cases = 300;
  for (int i = 0; i < k_cases; ++i) text += "batch: 2; n: 4; cond: 1; seed: 5; case: huge\n";
  const PopcornOutcome outcome =
      popcorn_run(tree, {"test", tree.write("f.txt", text), "--problem", "qr_v2"});
  CHECK(outcome.status == 112);
  CHECK_THAT(outcome.lines, ContainsSubstring("test.299.error: eeee"));
  const std::string verdict = "check: fail\n";
  REQUIRE(outcome.lines.size() > verdict.size());
  CHECK(outcome.lines.substr(outcome.lines.size() - verdict.size()) == verdict);
  for (int i = 0; i < k_cases; ++i) {
    const std::string stem = "test." + std::to_string(i);
    CHECK(outcome.lines.find(stem + ".status: fail\n" + stem + ".error: ") != std::string::npos);
  }
}

TEST_CASE("the worker has no descriptor but its own four and no POPCORN variable") {
  const Tree tree;
  const std::string file =
      tree.write("f.txt", "batch: 2; n: 4; cond: 1; seed: 5; case: descriptors\n");
  const PopcornOutcome outcome =
      popcorn_run(tree, {"test", file, "--problem", "qr_v2"}, {{"POPCORN_SEED", "1"}});
  CHECK_THAT(outcome.lines, ContainsSubstring("test.0.message: open: 0 1 2 3 \n"));
}
