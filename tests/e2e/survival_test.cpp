// What a plug-in can do to the process it runs in: one failed case in words, the cases around it
// unharmed, and nothing left behind.
#include <signal.h>

#include "rows.h"

using namespace kbench::test;

namespace {

// A sanitizer turns a signal, and a lack of memory, into an exit status.
#if defined(__SANITIZE_ADDRESS__)
const Words k_segv = {"worker "}, k_abrt = k_segv, k_bus = k_segv, k_no_memory = k_segv;
#else
const Words k_segv = {"worker killed by SIGSEGV before replying (phase: checked pass 1)"};
const Words k_abrt = {"worker killed by SIGABRT before replying (phase: checked pass 1)"};
const Words k_bus = {"worker killed by SIGBUS before replying (phase: checked pass 1)"};
const Words k_no_memory = {"out of host memory; "};
#endif
Words hang(const std::string& plugin) {
  return {"custom_kernel did not return within " + call_limit(plugin) +
          " s: killed (phase: checked pass 1)"};
}

/// A row without words is a plug-in that does not return.
void expect_in_words(const std::string& mode, const std::string& plugin, const Words& words) {
  expect_one_bad_case(mode, plugin, words.empty() ? hang(plugin) : words);
}

/// Enough calls for a driver that hands out 2 MiB at once; the cases around are not warned of.
void expect_leak(const std::string& plugin, const std::string& memory) {
  constexpr double k_lost_bytes = 65536;
  const Outcome outcome = expect_pass("benchmark", plugin, 24);
  REQUIRE(outcome.document.is_object());
  const auto& cases = outcome.document.at("cases");
  CHECK(cases.at(0).at("leaked_bytes_per_call") == 0);
  CHECK(cases.at(2).at("leaked_bytes_per_call") == 0);
#if defined(__SANITIZE_ADDRESS__)
  if (memory == "host") return;  // its allocator tells nothing
#endif
  const double leaked = cases.at(1).at("leaked_bytes_per_call");
  CHECK(leaked > 0.9 * k_lost_bytes);
  CHECK(leaked < 1.1 * k_lost_bytes);
  CHECK_THAT(outcome.out, ContainsSubstring("warning: each call leaves "));
  CHECK_THAT(outcome.out, ContainsSubstring(" KiB of " + memory + " memory behind ("));
}

const std::vector<Row> k_rows = {
    {"segfault", k_segv},
    {"abort", k_abrt},
    {"exit0", {"worker exited with status 0 before replying (phase: checked pass 1)"}},
    {"terminates", {"worker killed by SIGTERM before replying (phase: checked pass 1)"}},
    {"hang", {}},
    {"changes_signals_hangs", {}},
    {"chatter_endless", {}},
    {"misaligned", k_bus, false},
    {"writes_before_matrix", {"custom_kernel wrote 4 bytes before output `H` (call 1)"}},
    {"writes_after_matrix", {"custom_kernel wrote 4 bytes after output `H` (call 1)"}},
    {"writes_before_vector", {"custom_kernel wrote 8 bytes before output `tau` (call 1)"}},
    {"writes_after_vector", {"custom_kernel wrote 4 bytes after output `tau` (call 1)"}},
    {"throws", {"custom_kernel threw an exception: no panel left"}},
    {"throws_int", {"custom_kernel threw an exception: not a std::exception"}},
    {"returns_error", {"custom_kernel failed (code 42): panel 3 did not converge"}},
    {"writes_descriptors",
     {"worker's channel was disturbed (the stream holds bytes that are no frame)"}},
    // The driver's own descriptors go as well: how it takes that is its affair.
    {"closes_descriptors",
     {"worker exited with status 1 before replying (phase: checked pass 1)"},
     false},
};

const std::vector<Row> k_cuda_rows = {
    {"cuda_hang_on_gpu", {}},
    {"cuda_trap", {"custom_kernel failed on the device ("}},
    {"cuda_sticky", {"custom_kernel failed on the device ("}},
    {"cuda_misaligned", {"custom_kernel failed on the device ("}},
    {"cuda_launch_error", {"custom_kernel failed on the device ("}},
    {"cuda_device_reset", {"custom_kernel reset the device ("}},
    {"cuda_other_device",
     {"custom_kernel left CUDA device `", "custom_kernel failed on the device ("}},
    {"cuda_closes_descriptors", {"worker ", "worker's channel was disturbed ("}},
};

}  // namespace

TEST_CASE("whatever a plug-in does to its process is one failed case in words") {
  for (const Row& row : k_rows) expect_in_words("benchmark", row.plugin, row.words);
}

TEST_CASE("the same in leaderboard, where the first failed case ends the problem") {
  for (const Row& row : k_rows) expect_in_words("leaderboard", row.plugin, row.words);
}

TEST_CASE("a right plug-in may talk and take the signals") {
  expect_pass("benchmark", "changes_signals");
  const Outcome chatter = expect_pass("benchmark", "chatter", 2);
  CHECK_THAT(chatter.err, ContainsSubstring("... output of the worker cut"));
}

TEST_CASE("a plug-in that leaks passes, and every output but the result lines says how much") {
  expect_leak("leaks", "host");
}

TEST_CASE("a plug-in that leaves its process no memory fails in words") {
  const std::string plugin = "exhausts_memory";
  for (const char* mode : {"benchmark", "leaderboard"}) {
    const Outcome outcome = run_kbench(mode, k_around_bad, test_plugin(plugin), short_run(plugin));
    INFO(outcome.lines << outcome.err.substr(0, 2000));
    CHECK(outcome.status == 112);
    CHECK(outcome.line("benchmark.0.error") == "(no such line)");
    const std::string error = outcome.line("benchmark.1.error");
    CHECK(begins_with_any(error, k_no_memory));
  }
}

TEST_CASE("in-process a signal ends the run with a verdict, whichever thread it is given to") {
  // The threads of a BLAS exist before kbench can block anything.
  const std::string plugin = "terminates";
  const Outcome outcome = run_kbench("benchmark", k_around_bad, test_plugin(plugin),
                                     short_run(plugin, {"--in-process"}));
  INFO(outcome.lines << outcome.err);
  CHECK(outcome.status == 112);
  CHECK(outcome.line("benchmark.2.error") == "not run (interrupted)");
  CHECK(outcome.line("check") == "fail");
  REQUIRE(outcome.document.is_object());
  CHECK(outcome.document.at("verdict") == "fail");
}

TEST_CASE("a hang is told with its limit and where it was") {
  const Outcome outcome =
      run_kbench("benchmark", k_around_bad, test_plugin("hang"), short_run("hang"));
  CHECK_THAT(
      outcome.line("benchmark.1.error"),
      StartsWith("custom_kernel did not return within 0.5 s: killed (phase: checked pass 1)"));
}

TEST_CASE("output without end is bounded and is no result") {
  const std::string plugin = "chatter_endless";
  const Outcome outcome =
      run_kbench("benchmark", k_around_bad, test_plugin(plugin), short_run(plugin));
  CHECK_THAT(outcome.err, ContainsSubstring("... output of the worker cut"));
  CHECK(outcome.err.size() < 70000);
  CHECK_THAT(outcome.out, !ContainsSubstring("check: pass"));
}

TEST_CASE("a child that a plug-in leaves behind does not outlive the run") {
  const Outcome outcome = expect_pass("benchmark", "forks_child");
  const std::size_t at = outcome.err.find("child ");
  REQUIRE(at != std::string::npos);
  const pid_t child = std::stoi(outcome.err.substr(at + 6));
  // Not within a while: when kbench has ended the child has.
  CHECK(kill(child, 0) != 0);
}

TEST_CASE("whatever a CUDA plug-in does to its process is one failed case in words", "[gpu]") {
  for (const Row& row : k_rows) {
    if (row.on_cuda) expect_in_words("benchmark", "cuda_" + row.plugin, row.words);
  }
  for (const Row& row : k_cuda_rows) expect_in_words("benchmark", row.plugin, row.words);
}

TEST_CASE("a CUDA plug-in that holds all of the memory harms no other case", "[gpu]") {
  const std::string plugin = "cuda_exhausts_memory";
  const Outcome outcome =
      run_kbench("benchmark", k_around_bad, test_plugin(plugin), short_run(plugin));
  INFO(outcome.lines << outcome.err.substr(0, 2000));
  // Its own case passes where kbench needs no more memory.
  const std::string error = outcome.line("benchmark.1.error");
  const Words words = {"(no such line)", "cannot allocate ", "out of device memory",
                       "custom_kernel failed on the device ("};
  CHECK(begins_with_any(error, words));
  expect_unharmed("benchmark", outcome);
}

TEST_CASE("a CUDA plug-in that leaks passes, and every output but the result lines says how much",
          "[gpu]") {
  expect_leak("cuda_leaks", "device");
}

TEST_CASE("a right CUDA plug-in may talk, take the signals and leave a child", "[gpu]") {
  expect_pass("benchmark", "cuda_changes_signals");
  expect_pass("benchmark", "cuda_chatter", 2);
  const Outcome outcome = expect_pass("benchmark", "cuda_forks_child");
  const std::size_t at = outcome.err.find("child ");
  REQUIRE(at != std::string::npos);
  CHECK(kill(std::stoi(outcome.err.substr(at + 6)), 0) != 0);
}
