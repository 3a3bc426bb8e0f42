// How the tables of plug-ins are run: the cases around the bad one, and what has to be said.
#pragma once

#include <algorithm>
#include <string>

#include "catch.h"
#include "program.h"

namespace kbench::test {

/// A plug-in and the words that its case fails with.
struct Row {
  std::string plugin;
  Words words;          ///< the error begins with one of these
  bool on_cuda = true;  ///< there is a cuda_<plugin> as well
};

/// A batch of one matrix is honest work for every test plug-in: the case in the middle is bad.
constexpr const char* k_around_bad =
    "batch: 1; n: 8; cond: 1; seed: 5\n"
    "batch: 4; n: 8; cond: 1; seed: 6\n"
    "batch: 1; n: 8; cond: 1; seed: 7\n";

/// Seconds that a call may take. A GPU also loads kernels in its first one; eigenvectors of all
/// calls in one take their time.
inline std::string call_limit(const std::string& plugin) {
  if (plugin.starts_with("cuda_")) return "4";
  return plugin.starts_with("eigh_") ? "10" : "0.5";
}

/// Enough repeats for an audit. Without a warm-up, which takes a thousand repeats in leaderboard.
inline Words short_run(const std::string& plugin, const Words& more = {}, int repeats = 10) {
  Words options = {"--no-warmup", "--repeats", std::to_string(repeats), "--call-timeout",
                   call_limit(plugin)};
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

inline bool begins_with_any(const std::string& text, const Words& starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](const std::string& start) { return text.starts_with(start); });
}

/// The cases around the bad one pass; in leaderboard nothing comes after it.
inline void expect_unharmed(const std::string& mode, const Outcome& outcome) {
  const std::string before = outcome.line("benchmark.0.error");
  const std::string after = outcome.line("benchmark.2.error");
  CHECK(before == "(no such line)");
  CHECK(after == (mode == "leaderboard" ? "not run (case 1 failed)" : "(no such line)"));
}

/// The bad case fails in its words, the others pass, and no text of the plug-in is a result.
inline void expect_one_bad_case(const std::string& mode, const std::string& plugin,
                                const Words& words) {
  const Outcome outcome = run_kbench(mode, k_around_bad, test_plugin(plugin), short_run(plugin));
  INFO(mode << " " << plugin << "\n" << outcome.lines << outcome.err.substr(0, 2000));
  CHECK(outcome.status == 112);
  const std::string error = outcome.line("benchmark.1.error");
  CHECK(begins_with_any(error, words));
  expect_unharmed(mode, outcome);
  CHECK(outcome.line("check") == "fail");
  CHECK_THAT(outcome.lines, !ContainsSubstring("check: pass"));
}

/// All cases pass, whatever the plug-in does beside its work.
inline Outcome expect_pass(const std::string& mode, const std::string& plugin, int repeats = 10) {
  Outcome outcome =
      run_kbench(mode, k_around_bad, test_plugin(plugin), short_run(plugin, {}, repeats));
  INFO(mode << " " << plugin << "\n" << outcome.lines << outcome.err.substr(0, 2000));
  CHECK(outcome.status == 0);
  CHECK(outcome.line("check") == "pass");
  return outcome;
}

}  // namespace kbench::test
