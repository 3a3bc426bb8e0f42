// The result lines of each mode, byte for byte, and that no text can forge one.
#include <algorithm>

#include "catch.h"
#include "core/text.h"
#include "kbench_process.h"
#include "runner/report.h"

using namespace kbench;

namespace {

constexpr const char* k_dense = "batch: 2; n: 4; cond: 1; seed: 5";
constexpr const char* k_wrong = "batch: 3; n: 4; cond: 1; seed: 6; case: wrong";

std::string two_cases() { return std::string(k_dense) + "\n" + k_wrong + "\n"; }

std::string figures(int i, const std::string& spec, const std::string& problem) {
  const std::string stem = "benchmark." + std::to_string(i) + ".";
  return stem + "spec: " + spec + "\n" + stem + "runs: 3\n" + stem + "mean: 1250\n" + stem +
         "std: 250\n" + stem + "err: 144.33756729740645\n" + stem + "best: 1000\n" + stem +
         "worst: 1500\n" + stem + "median: 1250\n" + stem + "kernel: lapack\n" + stem +
         "problem: " + problem + "\n";
}

}  // namespace

TEST_CASE("test mode writes spec, status and message or error of every case") {
  const Tree tree;
  const PopcornOutcome outcome =
      popcorn_run(tree, {"test", tree.write("f.txt", two_cases()), "--problem", "qr_v2"});
  CHECK(outcome.status == 112);
  CHECK(outcome.lines ==
        "test-count: 2\n"
        "test.0.spec: batch: 2; n: 4; cond: 1; seed: 5\n"
        "test.0.status: pass\n"
        "test.0.message: scaled_residual=0.5\n"
        "test.1.spec: batch: 3; n: 4; cond: 1; seed: 6; case: wrong\n"
        "test.1.status: fail\n"
        "test.1.error: factor: matrix 3: 7 > 2\n"
        "check: fail\n");
}

TEST_CASE("benchmark mode writes six figures in nanoseconds and three more keys, or the error") {
  const Tree tree;
  const std::string file = tree.write("f.txt", two_cases() + k_dense);
  const PopcornOutcome outcome =
      popcorn_run(tree, {"benchmark", file, "--problem", "qr_v2", "--nonce", "9"});
  CHECK(outcome.status == 112);
  CHECK(outcome.lines ==
        "benchmark-count: 3\n" + figures(0, k_dense, "qr_v2") + "benchmark.1.spec: " + k_wrong +
            "\n"
            "benchmark.1.status: fail\n"
            "benchmark.1.error: factor: matrix 3: 7 > 2; reproduce with --nonce 9\n" +
            figures(2, k_dense, "qr_v2") + "check: fail\n");
}

TEST_CASE("a failed leaderboard case ends the remaining cases of its problem and no other") {
  const Tree tree;
  const std::string file = tree.write("f.txt", two_cases() + k_dense);
  const PopcornOutcome outcome = popcorn_run(tree, {"leaderboard", file, "--nonce=9"});
  CHECK(outcome.status == 112);
  const std::string failed = std::string(k_wrong) + "\n";
  const std::string rest = std::string(k_dense) + "\n";
  CHECK(outcome.lines ==
        "benchmark-count: 6\n" + figures(0, k_dense, "qr_v2") + "benchmark.1.spec: " + failed +
            "benchmark.1.status: fail\nbenchmark.1.error: factor: matrix 3: 7 > 2; reproduce with "
            "--nonce 9\n"
            "benchmark.2.spec: " +
            rest + "benchmark.2.status: fail\nbenchmark.2.error: not run (case 1 failed)\n" +
            figures(3, k_dense, "eigh_py") + "benchmark.4.spec: " + failed +
            "benchmark.4.status: fail\nbenchmark.4.error: factor: matrix 3: 7 > 2; reproduce with "
            "--nonce 9\n"
            "benchmark.5.spec: " +
            rest +
            "benchmark.5.status: fail\nbenchmark.5.error: not run (case 4 failed)\n"
            "check: fail\n");
}

TEST_CASE("profile mode always writes the report key, on failure too") {
  const Tree tree;
  const std::string good = tree.write("good.txt", k_dense);
  const PopcornOutcome pass = popcorn_run(tree, {"profile", good}, {{"POPCORN_NCU", "1"}});
  CHECK(pass.status == 0);
  CHECK(pass.lines ==
        "benchmark-count: 1\n"
        "benchmark.0.spec: batch: 2; n: 4; cond: 1; seed: 5\n"
        "benchmark.0.status: pass\n"
        "benchmark.0.report: \n"
        "check: pass\n");
  const std::string bad = tree.write("bad.txt", std::string(k_wrong) + "\n" + k_dense);
  const PopcornOutcome fail = popcorn_run(tree, {"profile", bad});
  CHECK(fail.status == 112);
  CHECK(fail.lines ==
        "benchmark-count: 1\n"
        "benchmark.0.spec: batch: 3; n: 4; cond: 1; seed: 6; case: wrong\n"
        "benchmark.0.status: fail\n"
        "benchmark.0.report: \n"
        "benchmark.0.error: factor: matrix 3: 7 > 2\n"
        "check: fail\n");
}

TEST_CASE("cases of two problems are numbered on and name their problem") {
  const Tree tree;
  const PopcornOutcome outcome = popcorn_run(tree, {"benchmark", tree.write("f.txt", k_dense)});
  CHECK(outcome.status == 0);
  CHECK(outcome.lines == "benchmark-count: 2\n" + figures(0, k_dense, "qr_v2") +
                             figures(1, k_dense, "eigh_py") + "check: pass\n");
}

TEST_CASE("a filtered run counts its cases from 0 again") {
  const Tree tree;
  const std::string file = tree.write("f.txt", two_cases() + k_dense + "; case: echo\n");
  const PopcornOutcome outcome =
      popcorn_run(tree, {"test", file, "--problem", "qr_v2", "--only", "0,2"});
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.lines, StartsWith("test-count: 2\ntest.0.spec: "));
  CHECK_THAT(outcome.lines,
             ContainsSubstring("test.1.spec: " + std::string(k_dense) + "; case: echo"));
  CHECK_THAT(outcome.lines, !ContainsSubstring("test.2"));
}

TEST_CASE("a line end of any kind in a message cannot forge a key") {
  const Tree tree;
  const std::string file = tree.write("f.txt", std::string(k_dense) + "; case: forge\n");
  for (const std::string mode : {"test", "benchmark", "profile"}) {
    const PopcornOutcome outcome = popcorn_run(tree, {mode, file, "--problem", "qr_v2"});
    CHECK(outcome.status == 112);
    const auto lines = std::count(outcome.lines.begin(), outcome.lines.end(), '\n');
    CHECK(lines == (mode == "profile" ? 6 : 5));
    for (const std::string end :
         {"\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\u0085", "\u2028", "\u2029", "\xff"}) {
      CHECK(outcome.lines.find(end) == std::string::npos);
    }
    CHECK(outcome.lines.find('\0') == std::string::npos);
    CHECK(to_valid_utf8(outcome.lines) == outcome.lines);
    CHECK_THAT(outcome.lines, ContainsSubstring(".error: bad\\ncheck: pass\\r"));
    CHECK(outcome.lines.find("\ncheck: pass") == std::string::npos);
  }
}

TEST_CASE("a spec with a foreign line end cannot forge a key") {
  RunRecord record;
  record.mode = find_mode("test");
  CaseRecord row;
  row.spec.spec =
      "batch: 1\u2028"
      "check: pass";
  record.cases.push_back(row);
  CHECK(popcorn_spec(record, 0) == "test.0.spec: batch: 1\\u2028check: pass\n");
}

TEST_CASE("a failure without words still has an error line") {
  RunRecord record;
  record.mode = find_mode("benchmark");
  record.cases.emplace_back();
  record.cases[0].ended = true;
  CHECK_THAT(popcorn_case(record, 0, 100),
             ContainsSubstring("benchmark.0.status: fail\nbenchmark.0.error: failed\n"));
}

TEST_CASE("a kernel's name cannot forge a key either") {
  RunRecord record;
  record.mode = find_mode("benchmark");
  CaseRecord row;
  row.ended = row.passed = true;
  row.kernel.name = "k\ncheck: fail";
  row.spec.problem = "qr_v2";
  row.summary = Summary{1, 1, 0, 0, 1, 1, 1};
  record.cases.push_back(row);
  CHECK_THAT(popcorn_case(record, 0, 100), ContainsSubstring("kernel: k\\ncheck: fail\n"));
}

TEST_CASE("no key is written twice") {
  const Tree tree;
  const std::string file = tree.write("f.txt", two_cases() + k_dense);
  for (const std::string mode : {"test", "benchmark", "leaderboard", "profile"}) {
    const PopcornOutcome outcome = popcorn_run(tree, {mode, file});
    std::vector<std::string> keys;
    for (std::size_t at = 0; at < outcome.lines.size();) {
      const std::size_t end = outcome.lines.find('\n', at);
      keys.push_back(outcome.lines.substr(at, outcome.lines.find(':', at) - at));
      at = end + 1;
    }
    std::sort(keys.begin(), keys.end());
    CHECK(std::adjacent_find(keys.begin(), keys.end()) == keys.end());
  }
}
