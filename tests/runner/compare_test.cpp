// `kbench compare` of kernels: who has a turn when, what is said and when it fails.
#include <algorithm>
#include <cmath>
#include <sstream>

#include "catch.h"
#include "kbench_process.h"
#include "result_files.h"
#include "runner/compare_files.h"

using namespace kbench;
using namespace kbench::test;

namespace {

constexpr const char* k_dense = "batch: 2; n: 4; cond: 1; seed: 5\n";

std::string case_line(const std::string& kind) {
  return "batch: 2; n: 4; cond: 1; seed: 5; case: " + kind + "\n";
}

/// The lines of the log that begin with one of `words`, in order.
std::vector<std::string> log_lines(const Tree& tree, const std::vector<std::string>& words) {
  std::vector<std::string> lines;
  std::istringstream log(tree.read("log"));
  for (std::string line; std::getline(log, line);) {
    const bool wanted = std::any_of(words.begin(), words.end(),
                                    [&](const auto& word) { return line.rfind(word, 0) == 0; });
    if (wanted) lines.push_back(line);
  }
  return lines;
}

struct Comparison {
  Tree tree;

  Outcome run(std::vector<std::string> arguments, const std::string& cases,
              Environment environment = {}) {
    tree.write("clock", "");
    tree.write("log", "");
    environment.insert({{"FAKE_CLOCK", tree.path("clock")}, {"FAKE_LOG", tree.path("log")}});
    environment.insert({{"FAKE_NOISE", "0.002"}, {"FAKE_SEED", "1"}});
    arguments.insert(arguments.begin(), "compare");
    arguments.push_back(tree.write("cases.txt", cases));
    return kbench_run(tree, arguments, environment);
  }
};

}  // namespace

TEST_CASE("two kernels take turns in mirrored rounds, one at a time") {
  Comparison comparison;
  const Outcome outcome = comparison.run({"lapack", "blocked", "--repeats", "4"}, k_dense);
  CHECK(outcome.status == 0);
  const std::vector<std::string> expected = {"begin lapack", "begin blocked", "turn lapack",
                                             "turn blocked", "turn blocked",  "turn lapack",
                                             "turn blocked", "turn lapack",   "turn lapack",
                                             "turn blocked", "end lapack",    "end blocked"};
  CHECK(log_lines(comparison.tree, {"begin", "turn", "end"}) == expected);
}

TEST_CASE("both kernels get the same job: seeds, nonce, warm-up, no capture range") {
  Comparison comparison;
  CHECK(comparison.run({"lapack", "blocked", "--repeats", "2"}, k_dense).status == 0);
  const auto jobs = log_lines(comparison.tree, {"job", "fresh"});
  REQUIRE(jobs.size() == 4);
  CHECK_THAT(jobs[0], ContainsSubstring("warm_up=200 repeats=0 max=200 range=false"));
  const auto before_stem = [](const std::string& line) {
    return line.substr(0, line.find("stem"));
  };
  CHECK(before_stem(jobs[0]) == before_stem(jobs[2]));
  CHECK_THAT(jobs[1], StartsWith("fresh=true nonce="));
  CHECK(jobs[1] == jobs[3]);
}

TEST_CASE("the faster kernel is named, with its ratio and its interval") {
  Comparison comparison;
  comparison.tree.write("kernels/qr_v2/blocked.so", "qr_v2 host 0.5");
  const Outcome faster = comparison.run({"lapack", "blocked"}, k_dense);
  CHECK(faster.status == 0);
  CHECK_THAT(faster.out, ContainsSubstring("B/A 0.500"));
  CHECK_THAT(faster.out, ContainsSubstring("    faster (2x)\n"));
  CHECK_THAT(faster.out, ContainsSubstring("1 faster, 0 slower, 0 same, 0 undecided\n"));
  const Outcome slower = comparison.run({"blocked", "lapack"}, k_dense);
  CHECK_THAT(slower.out, ContainsSubstring("slower (2x)"));
}

TEST_CASE("several cases have a geometric mean, and three kernels are all compared with A") {
  Comparison comparison;
  comparison.tree.write("kernels/qr_v2/half.so", "qr_v2 host 0.5");
  const Outcome outcome =
      comparison.run({"lapack", "blocked", "half"}, std::string(k_dense) + k_dense + k_dense);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("A  lapack\nB  blocked\nC  half\n"));
  CHECK_THAT(outcome.out, ContainsSubstring("geometric mean of qr_v2: B/A 1.000"));
  CHECK_THAT(outcome.out, ContainsSubstring("geometric mean of qr_v2: C/A 0.500"));
  CHECK_THAT(outcome.out, ContainsSubstring("3 faster, 0 slower, 3 same, 0 undecided\n"));
}

TEST_CASE(
    "option --fail-if-slower fails for a kernel that is slower for certain, and for no other") {
  Comparison comparison;
  comparison.tree.write("kernels/qr_v2/blocked.so", "qr_v2 host 1.1");
  struct Row {
    std::vector<std::string> arguments;
    int status;
  };
  const Row rows[] = {
      {{"lapack", "blocked"}, 0},
      {{"lapack", "blocked", "--fail-if-slower", "5"}, 112},
      {{"lapack", "blocked", "--fail-if-slower", "5%"}, 112},
      {{"lapack", "blocked", "--fail-if-slower", "20"}, 0},
      {{"blocked", "lapack", "--fail-if-slower", "0"}, 0},
      // Four pairs are too few to be certain of anything.
      {{"lapack", "blocked", "--fail-if-slower", "5", "--repeats", "4"}, 0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.arguments);
    CHECK(comparison.run(row.arguments, k_dense).status == row.status);
  }
}

TEST_CASE("a kernel against itself is neither faster nor slower in 95 of 100 runs") {
  Comparison comparison;
  int decided = 0;
  for (int seed = 0; seed < 100; ++seed) {
    const Outcome outcome =
        comparison.run({"lapack", "lapack", "--problem", "qr_v2", "--repeats", "24"}, k_dense,
                       {{"FAKE_NOISE", "0.05"}, {"FAKE_SEED", std::to_string(seed)}});
    REQUIRE(outcome.status == 0);
    const bool neither = outcome.out.find("0 faster, 0 slower") != std::string::npos;
    if (!neither) ++decided;
  }
  CHECK(decided <= 5);
}

TEST_CASE("a kernel that fails is named, the others end their case, and the next case runs") {
  struct Row {
    std::string kind, words;
  };
  const Row rows[] = {
      {"wrong", "FAIL  A (lapack): factor: matrix 3: 7 > 2; reproduce with --nonce "},
      {"segv", "FAIL  A (lapack): worker killed by SIGSEGV before replying"},
      {"diesinturn", "FAIL  B (blocked): worker killed by SIGKILL before replying"},
      {"lastwords", "FAIL  B (blocked): impossible time"},
      {"badtime", "FAIL  B (blocked): no sound time (0 ns)"},
      {"garbage", "FAIL  A (lapack): worker's channel was disturbed"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.kind);
    Comparison comparison;
    const Outcome outcome = comparison.run({"lapack", "blocked"}, case_line(row.kind) + k_dense);
    CHECK(outcome.status == 112);
    CHECK_THAT(outcome.out, ContainsSubstring(row.words));
    CHECK_THAT(outcome.out,
               ContainsSubstring("1 same, 0 undecided, 1 not compared (a kernel failed)\n"));
  }
}

TEST_CASE("no line of a comparison is longer than the terminal and no figure is lost") {
  const auto run_of = [](double first_ns, double second_ns) {
    return read_back(some_run({measured_case(32, samples_around(first_ns)),
                               measured_case(512, samples_around(second_ns)),
                               failed_case(64,
                                           "factor: the residual of matrix 3 is 7 where 2 is "
                                           "the most that is allowed")}));
  };
  const ComparisonRecord record = compare_results(run_of(1000, 3e6), run_of(500, 3e6), 0.01);
  std::vector<Case> cases;
  for (const ComparedCase& row : record.cases) cases.push_back(row.spec);
  for (const std::size_t width : {0u, 60u, 80u, 120u, 160u}) {
    CAPTURE(width);
    const ComparisonLayout layout = comparison_layout(cases, {width, true});
    CHECK(layout.beside == (width == 0 || width >= 150));
    std::string text = comparison_heading(record, layout);
    for (std::size_t i = 0; i < record.cases.size(); ++i) {
      text += comparison_row(record, i, layout);
    }
    text += comparison_footer(record, layout);
    for (const char* part :
         {"batch: 20; n: 512; cond: 1; seed: 43214", "A      1 us", "B    500 ns", "42 repeats",
          "B/A 0.500", "\x1b[32mfaster (2x)\x1b[0m", "  same\n",
          "\x1b[31mFAIL\x1b[0m  A (blocked): factor:", "is allowed\n", "times are medians;"}) {
      CHECK_THAT(text, ContainsSubstring(part));
    }
    while (width > 0 && !text.empty()) {
      const std::size_t end = text.find('\n');
      CHECK(width_of(text.substr(0, end)) <= width);
      text.erase(0, end + 1);
    }
  }
}

TEST_CASE("a comparison tells what it is at, on stderr and unless it is told not to") {
  RoundRule rule(1, 0.99, 0.01, 0);
  for (int i = 0; i < 10; ++i) rule.add(std::vector<double>{std::log(0.5)}, i);
  CHECK(rounds_text(rule, 1, 10) == "pair 10 | B/A 0.5 | up to 14 s left");
  Comparison comparison;
  const Outcome outcome = comparison.run({"lapack", "blocked"}, k_dense);
  CHECK(outcome.err == "2 kernels and their device are being prepared\n");
  CHECK(comparison.run({"lapack", "blocked", "--quiet"}, k_dense).err.empty());
  comparison.tree.write("kernels/qr_v2/blocked.so", "qr_v2 host 0.5");
  CHECK_THAT(comparison.run({"lapack", "blocked", "--color", "always"}, k_dense).out,
             ContainsSubstring("\x1b[32mfaster (2x)\x1b[0m\n"));
}

TEST_CASE("what cannot be compared is refused before anything runs") {
  Comparison comparison;
  const Tree& tree = comparison.tree;
  const std::string eigh = tree.write("eigh.so", "eigh_py host");
  const std::string cuda = tree.write("cuda.so", "qr_v2 cuda");
  struct Row {
    std::vector<std::string> arguments;
    Environment environment;
    int status;
    std::string words;
  };
  const Row rows[] = {
      {{"lapack", "lapak"}, {}, 2, "unknown kernel `lapak`; did you mean `lapack`?"},
      {{"lapack", tree.path("none.so")}, {}, 2, "no kernel plug-in at"},
      {{"blocked", eigh}, {}, 2, "no kernel `blocked` for problem eigh_py"},
      {{tree.path("kernels/qr_v2/lapack.so"), eigh}, {}, 2, "is for problem eigh_py on host, not"},
      {{"blocked", "lapack", "--problem", "eigh_py"}, {}, 2, "unknown kernel `blocked` (problem"},
      {{"lapack", "blocked", "--device", "host"}, {{"FAKE_HELLO", "no device"}}, 110, "no CUDA"},
      {{"blocked", cuda}, {}, 2, "the kernels run on different devices"},
      {{"lapack", "blocked", "--same", "x"}, {}, 2, "`x` is no value for `--same`"},
      {{"lapack", "blocked", "--input", "a.npy"}, {}, 2, "exclude each other"},
      {{"lapack", "blocked"},
       {{"NV_COMPUTE_PROFILER_PERFWORKS_DIR", "x"}},
       2,
       "cannot compare under ncu"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.arguments);
    const Outcome outcome = comparison.run(row.arguments, k_dense, row.environment);
    CHECK(outcome.status == row.status);
    CHECK_THAT(outcome.err, ContainsSubstring(row.words));
    CHECK(log_lines(tree, {"begin"}).empty());
  }
  const Outcome one = kbench_run(tree, {"compare", "lapack"});
  CHECK(one.status == 2);
  CHECK_THAT(one.err, ContainsSubstring("needs two kernels or more"));
}

TEST_CASE("one kernel and a case file are not two kernels") {
  const Tree tree;
  const std::string file = tree.write("shape.txt", k_dense);
  const Outcome outcome = kbench_run(tree, {"compare", "lapack", file});
  CHECK(outcome.status == 2);
  CHECK(outcome.err == "`kbench compare` needs two kernels or more (`" + file +
                           "` is a file of cases, no kernel); name another, as in `kbench compare "
                           "lapack my.cpp shape.txt`\n");
}
