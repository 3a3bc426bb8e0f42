// The run as a whole: exit codes, jobs and workers, kernels, the verbs list and generate.
#include "catch.h"
#include "kbench_process.h"

namespace {

constexpr const char* k_dense = "batch: 2; n: 4; cond: 1; seed: 5\n";
constexpr const char* k_big = "batch: 640; n: 512; cond: 1; seed: 5; case: echo\n";

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

}  // namespace

TEST_CASE("every exit code has its occasion") {
  const Tree tree;
  const std::string good = tree.write("good.txt", k_dense);
  const std::string bad = tree.write("bad.txt", "batch: 2; n: 4; cond: 1; seed: 5; case: wrong");
  const std::string broken = tree.write("broken.txt", "batch: 2; n: ; cond: 1");
  struct Row {
    std::vector<std::string> arguments;
    Environment environment;
    int status;
    std::string words;
  };
  const std::vector<Row> rows = {
      {{"test", good}, {}, 0, ""},
      {{"--help"}, {}, 0, ""},
      {{"--version"}, {}, 0, ""},
      {{}, {}, 2, "Usage: kbench VERB"},
      {{"tset"}, {}, 2, "did you mean `test`?"},
      {{"test", good, "--kernel", "lapak"}, {}, 2, "did you mean `lapack`?"},
      {{"test", good}, {{"POPCORN_SEED", "x"}}, 2, "POPCORN_SEED"},
      {{"test", good}, {{"FAKE_HELLO", "no device"}}, 110, "no CUDA device (driver missing)"},
      {{"generate", good, "--out", "/tmp"}, {{"FAKE_HELLO", "no device"}}, 110, "no CUDA device"},
      {{"list", "devices"}, {{"FAKE_HELLO", "no device"}}, 110, "no CUDA device"},
      {{"test", good}, {{"POPCORN_FD", "abc"}}, 111, "POPCORN_FD"},
      {{"test", bad}, {}, 112, ""},
      {{"test", broken}, {}, 113, "broken.txt:1:14"},
      {{"test", tree.path("none.txt")}, {}, 113, "none.txt:1:1: cannot read"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.arguments);
    const Outcome outcome = kbench_run(tree, row.arguments, row.environment);
    CHECK(outcome.status == row.status);
    CHECK_THAT(outcome.err, ContainsSubstring(row.words));
    if (row.status == 2 || row.status == 110 || row.status == 113) CHECK(outcome.out.empty());
  }
}

TEST_CASE("a worker that dies in its set-up fails every case in words") {
  const Tree tree;
  const PopcornOutcome outcome = popcorn_run(
      tree, {"test", tree.write("f.txt", k_dense), "--kernel", "lapack", "--problem", "qr_v2"},
      {{"FAKE_HELLO", "dies"}});
  CHECK(outcome.status == 112);
  CHECK_THAT(outcome.lines, ContainsSubstring("test.0.error: worker killed by SIGKILL before "
                                              "replying (phase: set-up)\ncheck: fail\n"));
}

TEST_CASE("a set-up that fails with 112 is failed cases with a verdict") {
  const Tree tree;
  const PopcornOutcome outcome =
      popcorn_run(tree, {"test", tree.write("f.txt", k_dense)}, {{"FAKE_HELLO", "failed"}});
  CHECK(outcome.status == 112);
  CHECK_THAT(outcome.lines, ContainsSubstring("test.0.error: set-up went wrong\n"));
  CHECK_THAT(outcome.lines, ContainsSubstring("test.1.error: set-up went wrong\ncheck: fail\n"));
}

TEST_CASE("a worker leaves by itself at the end and when the problem changes") {
  const Tree tree;
  const std::string file = tree.write("f.txt", "batch: 2; n: 4; cond: 1; seed: 5; case: quiet\n");
  const Outcome outcome = kbench_run(tree, {"test", file}, {{"FAKE_LOG", tree.path("log")}});
  CHECK(outcome.status == 0);
  CHECK(count(tree.read("log"), "left by itself") == 2);
}

TEST_CASE("each mode asks the worker for its own job") {
  const Tree tree;
  struct Row {
    std::vector<std::string> arguments;
    Environment environment;
    std::vector<std::string> jobs;
  };
  const std::string file = tree.write("f.txt", std::string(k_big) + k_big);
  const auto job = [](const std::string& text) { return "job qr_v2 echo " + text; };
  const std::string first = " stem=qr_v2-0-640x512-echo\n", second = " stem=qr_v2-1-640x512-echo\n";
  const std::vector<Row> rows = {
      {{"test"},
       {},
       {job("kind=0 seeds=5 warm_up=-1 repeats=0 max=1 range=true timeout=0" + first),
        job("kind=0 seeds=5 warm_up=-1 repeats=0 max=1 range=true timeout=0" + second)}},
      {{"benchmark"},
       {},
       {job("kind=1 seeds=47 warm_up=200 repeats=0 max=200 range=true timeout=0" + first),
        job("kind=1 seeds=47 warm_up=-1 repeats=0 max=200 range=true timeout=0" + second)}},
      {{"leaderboard"},
       {},
       {job("kind=1 seeds=47 warm_up=1000 repeats=0 max=1000 range=true timeout=0" + first),
        job("kind=1 seeds=47 warm_up=1000 repeats=0 max=1000 range=true timeout=0" + second)}},
      {{"profile", "--range", "off"},
       {},
       {job("kind=2 seeds=5 warm_up=-1 repeats=0 max=1 range=false timeout=0" + first)}},
      {{"benchmark", "--no-warmup", "--repeats", "7", "--call-timeout", "3"},
       {},
       {job("kind=1 seeds=47 warm_up=-1 repeats=7 max=200 range=true timeout=3" + first)}},
      {{"benchmark"},
       {{"NV_COMPUTE_PROFILER_PERFWORKS_DIR", "x"}},
       {job("kind=1 seeds=47 warm_up=-1 repeats=1 max=200 range=true timeout=0" + first)}},
      {{"leaderboard", "--repeats", "4"},
       {{"NV_NSIGHT_INJECTION_PORT_BASE", "x"}},
       {job("kind=1 seeds=47 warm_up=-1 repeats=4 max=1000 range=true timeout=0" + first)}},
      {{"test", "--seed", "3"},
       {},
       {job("kind=0 seeds=41 warm_up=-1 repeats=0 max=1 range=true timeout=0" + first)}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.arguments);
    tree.write("log", "");
    std::vector<std::string> arguments = row.arguments;
    arguments.insert(arguments.end(), {file, "--problem", "qr_v2"});
    Environment environment = row.environment;
    environment["FAKE_LOG"] = tree.path("log");
    CHECK(kbench_run(tree, arguments, environment).status == 0);
    const std::string log = tree.read("log");
    for (const std::string& line : row.jobs) CHECK_THAT(log, ContainsSubstring(line));
    CHECK(count(log, "setup") == 1);
  }
}

TEST_CASE("under ncu one line says what is done instead of the stop rule") {
  const Tree tree;
  const Outcome outcome = kbench_run(tree, {"benchmark", tree.write("f.txt", k_dense)},
                                     {{"NV_COMPUTE_PROFILER_PERFWORKS_DIR", "x"}});
  CHECK_THAT(outcome.err, ContainsSubstring(
                              "running under ncu (`NV_COMPUTE_PROFILER_PERFWORKS_DIR` is set): the "
                              "figures are not comparable, CUPTI is left alone; 1 timed repeat, "
                              "no warm-up"));
}

TEST_CASE("each problem has its own worker and its default kernel") {
  const Tree tree;
  const std::string file = tree.write("f.txt", std::string(k_dense) + k_dense);
  const Outcome outcome = kbench_run(tree, {"test", file}, {{"FAKE_LOG", tree.path("log")}});
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("qr_v2: kernel lapack, device host (Fake CPU)"));
  CHECK_THAT(outcome.out, ContainsSubstring("eigh_py: kernel lapack, device host (Fake CPU)"));
  CHECK(count(tree.read("log"), "setup") == 2);
  CHECK(count(tree.read("log"), "job qr_v2") == 2);
  CHECK(count(tree.read("log"), "job eigh_py") == 2);
}

TEST_CASE("a kernel is chosen by name or by path, and narrows the problems") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_dense);
  const std::string own = tree.write("mine/own.so", "eigh_py host");
  struct Row {
    std::vector<std::string> arguments;
    int status;
    std::string out, err;
  };
  const std::vector<Row> rows = {
      {{"--kernel", "blocked"}, 0, "qr_v2: kernel blocked", ""},
      {{"--kernel", own}, 0, "eigh_py: kernel own", ""},
      {{"--kernel", own, "--problem", "qr_v2"}, 2, "", "is for problem eigh_py on host"},
      {{"--kernel", "blocked", "--problem", "eigh_py"}, 2, "", "unknown kernel `blocked` (problem"},
      {{"--kernel", "none"}, 2, "", "known: lapack (eigh_py), blocked (qr_v2), lapack (qr_v2)"},
      {{"--kernel", tree.path("no.so")}, 2, "", "no kernel plug-in at"},
      {{"--kernel", tree.path("bin/../bin")}, 2, "", "is no readable file"},
      {{"--kernel", "my.cu"}, 2, "", "cannot read the kernel `my.cu` (no readable file is there)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.arguments);
    std::vector<std::string> arguments = {"test", file};
    arguments.insert(arguments.end(), row.arguments.begin(), row.arguments.end());
    const Outcome outcome = kbench_run(tree, arguments);
    CHECK(outcome.status == row.status);
    CHECK_THAT(outcome.out, ContainsSubstring(row.out));
    CHECK_THAT(outcome.err, ContainsSubstring(row.err));
  }
}

TEST_CASE("a plug-in of the wrong ABI ends the run before the first case") {
  const Tree tree;
  const std::string own = tree.write("own.so", "qr_v2 host");
  const Outcome outcome = kbench_run(tree, {"test", tree.write("f.txt", k_dense), "--kernel", own},
                                     {{"FAKE_HELLO", "wrong abi"}});
  CHECK(outcome.status == 2);
  CHECK(outcome.err == "kernel has ABI 7, kbench has 1; build it again\n");
}

TEST_CASE("a problem without a default kernel on the device is refused before the first case") {
  const Tree tree;
  tree.write("kernels/eigh_py/lapack.so", "eigh_py host");
  const std::string file = tree.write("f.txt", k_dense);
  CHECK(kbench_run(tree, {"test", file}).status == 0);
  unlink(tree.path("kernels/eigh_py/lapack.so").c_str());
  const Outcome outcome = kbench_run(tree, {"test", file, "--quiet"});
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, StartsWith("no kernel for problem eigh_py on host"));
  CHECK(outcome.out.empty());
}

TEST_CASE("what the worker notes about its device is said once") {
  const Tree tree;
  const Outcome outcome =
      kbench_run(tree, {"test", tree.write("f.txt", k_dense)}, {{"FAKE_HELLO", "note"}});
  CHECK(outcome.status == 0);
  CHECK(count(outcome.err, "no CUDA device: host backend, CPU timings\n") == 1);
}

TEST_CASE("without FILE the shipped task file of each problem is run") {
  const Tree tree;
  const char* rows = "tests:\n  - {batch: 2, n: 4, cond: 1, seed: 5}\n";
  tree.write("share/kbench/specs/qr_v2.yaml", std::string("problem: qr_v2\n") + rows);
  tree.write("share/kbench/specs/eigh_py.yaml", std::string("problem: eigh_py\n") + rows);
  const Outcome both = kbench_run(tree, {"test"});
  CHECK(both.status == 0);
  CHECK_THAT(both.out, ContainsSubstring("2 passed, 0 failed"));
  const Outcome one = kbench_run(tree, {"test", "--kernel", "blocked"});
  CHECK_THAT(one.out, ContainsSubstring("1 passed, 0 failed"));
  CHECK_THAT(one.out, ContainsSubstring("qr_v2: kernel blocked"));
}

TEST_CASE("samples that are missing or unsound fail a measured case") {
  const Tree tree;
  for (const std::string name : {"nosamples", "nansample", "zerosample"}) {
    const std::string file = tree.write("f.txt", "batch: 2; n: 4; cond: 1; seed: 5; case: " + name);
    const PopcornOutcome outcome = popcorn_run(tree, {"benchmark", file, "--problem", "qr_v2"});
    CHECK(outcome.status == 112);
    CHECK_THAT(outcome.lines, ContainsSubstring("benchmark.0.error: no sound time ("));
  }
}

TEST_CASE("list shows problems, cases, kernels with their defaults, and devices") {
  const Tree tree;
  const Outcome all = kbench_run(tree, {"list"});
  CHECK(all.status == 0);
  for (const std::string part :
       {"problems:\nqr_v2      a fake problem\n", "eigh_py    mixed\n", "qr_v2      blocked ",
        "lapack.so (default on host)\n", "host       Fake CPU, 1.0 GiB\n"}) {
    CHECK_THAT(all.out, ContainsSubstring(part));
  }
  const Outcome kernels = kbench_run(tree, {"list", "kernels", "--problem", "eigh_py"},
                                     {{"FAKE_LOG", tree.path("log")}});
  CHECK(count(kernels.out, "\n") == 1);
  CHECK_THAT(kernels.out, StartsWith("eigh_py    lapack"));
  CHECK(tree.read("log").empty());
  CHECK(kbench_run(tree, {"list", "cases", "--problem", "qr"}).status == 2);
}

TEST_CASE("generate prints one line for each input") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_big);
  const std::string out = tree.path("new/folder");
  const Outcome listed = kbench_run(tree, {"generate", file, "--out", out, "--problem", "qr_v2"});
  CHECK(listed.status == 0);
  CHECK(listed.out ==
        "abc123  [640,512,512]  seed 5  0.250 ms  " + out + "/qr_v2-0-640x512-echo.npy\n");
  const Outcome benchmark = kbench_run(
      tree, {"generate", file, "--out", out, "--problem", "qr_v2", "--inputs", "benchmark"});
  CHECK_THAT(benchmark.out, ContainsSubstring("seed 47  "));
  const Outcome refused = kbench_run(tree, {"generate", file, "--out", file});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, ContainsSubstring("cannot write inputs into"));
}

TEST_CASE("a closed stdin, stdout or stderr does no harm") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_dense);
  const std::string program = tree.path("bin/kbench");
  for (const std::string closed : {"<&-", ">&-", "2>&-", "<&- >&- 2>&-"}) {
    CAPTURE(closed);
    const std::string line = program + " test " + file + " --problem qr_v2 > " + tree.path("o") +
                             " 2> " + tree.path("e") + " " + closed;
    CHECK(std::system(line.c_str()) == 0);
  }
}
