// Plug-ins that are faster or more right than their work: each is a failed case in benchmark and in
// leaderboard. docs/test-plugins.md says how each is caught.
#include <cstdio>

#include "rows.h"

using namespace kbench::test;

namespace {

const Words k_stale = {"factor residual is too large (matrix "};
const Words k_unwritten = {"output `H` is not finite (matrix 0, row 0, column 0: "};

/// What comes too late is missing in the copy that is judged, and changes what has been judged.
const Words k_late = {k_unwritten[0], "work was still running "};

const std::vector<Row> k_rows = {
    {"cached_by_address", k_stale},
    {"keeps_state", k_stale},
    {"all_in_first_call", {k_unwritten[0], "custom_kernel wrote output `H` of call "}},
    {"all_in_last_call", k_unwritten},
    {"modifies_input", {"custom_kernel changed its input (call 1); inputs are read-only"}},
    {"modifies_input_when_timed", {"custom_kernel changed its input (call "}},
    {"unwritten_output", {"output `tau` is not finite (matrix 3, element 0: "}},
    {"no_work", k_unwritten},
    {"skips_when_timed", k_unwritten},
    {"nan_output", {"output `H` is not finite (matrix 3, row 7, column 7: "}},
    {"one_bad_matrix", {"factor residual is too large (matrix 3 of 4: "}},
    {"wrong_when_timed", k_stale},
    {"only_last_right", k_stale},
    {"wrong_later", k_stale, false},
    {"zero_work", k_stale, false},
    {"unjoined_thread", k_late, false},
    {"slow_when_hidden", {"a call takes "}},
};

const std::vector<Row> k_cuda_rows = {
    {"cuda_unjoined_stream", k_late},
    {"cuda_early_stream",
     {"output `H` is not finite (", "factor residual is too large (", k_late[1]}},
    {"cuda_late_stream", {"work was still running "}},
    {"cuda_persisting_l2", {"custom_kernel raised the persisting-L2 limit to "}},
};

const Words k_eigh_stale = {"eigen residual is too large (matrix "};
const Words k_eigh_unwritten = {"output `Q` is not finite (matrix 0, row 0, column 0: "};

const std::vector<Row> k_eigh_rows = {
    {"eigh_cached_by_address", k_eigh_stale},
    // The host's solver refuses inputs that are not there.
    {"eigh_all_in_first_call",
     {k_eigh_unwritten[0], "custom_kernel wrote output `Q` of call ",
      "custom_kernel failed (code 1)"}},
    {"eigh_modifies_input", {"custom_kernel changed its input (call 1); inputs are read-only"}},
    {"eigh_unwritten_output", {"output `L` is not finite (matrix 3, element 0: "}},
    {"eigh_no_work", k_eigh_unwritten},
    {"eigh_nan_output", {"output `Q` is not finite (matrix 3, row 7, column 7: "}},
    {"eigh_one_bad_matrix", {"eigen residual is too large (matrix 3 of 4: "}},
    {"eigh_wrong_when_timed", k_eigh_stale},
    {"eigh_all_in_last_call", {k_eigh_unwritten[0], "custom_kernel failed (code 1)"}},
    {"eigh_keeps_state", k_eigh_stale},
    {"eigh_modifies_input_when_timed", {"custom_kernel changed its input (call "}},
    {"eigh_skips_when_timed", k_eigh_unwritten},
    {"eigh_only_last_right", k_eigh_stale},
    {"eigh_unjoined_thread", {k_eigh_unwritten[0], "work was still running "}, false},
};

const std::vector<Row> k_cuda_eigh_rows = {
    {"cuda_eigh_unjoined_stream", {k_eigh_unwritten[0], "work was still running "}},
    {"cuda_eigh_early_stream",
     {"output `Q` is not finite (", "eigen residual is too large (", "work was still running "}},
    {"cuda_eigh_late_stream", {"work was still running "}},
};

constexpr const char* k_bad_case = "batch: 4; n: 8; cond: 1; seed: 6\n";

/// `calls=100 hits=50` of a case with the plug-in that remembers what it has seen.
struct Memory {
  long long calls = -1, hits = -1;
};
Memory memory_of(const std::string& plugin, const Words& options) {
  const Outcome outcome =
      run_kbench("benchmark", k_bad_case, test_plugin(plugin), short_run(plugin, options));
  INFO(outcome.lines << outcome.err);
  CHECK(outcome.status == 0);
  REQUIRE(outcome.document.is_object());
  const std::string report = outcome.document.at("cases").at(0).at("kernel").at("report");
  Memory memory;
  CHECK(std::sscanf(report.c_str(), "calls=%lld hits=%lld", &memory.calls, &memory.hits) == 2);
  return memory;
}

void expect_useless_memory(const std::string& plugin) {
  constexpr long long k_calls_per_repeat = 50;
  CHECK(memory_of(plugin, {}).hits == 0);
  // Without fresh inputs every call after the checked pass is a hit: the plug-in does work.
  // With CUPTI one more repeat is traced.
  CHECK(memory_of(plugin, {"--fresh-inputs", "off", "--cupti", "off"}).hits ==
        10 * k_calls_per_repeat);
}

}  // namespace

TEST_CASE("every cheat is a failed case in benchmark") {
  for (const Row& row : k_rows) expect_one_bad_case("benchmark", row.plugin, row.words);
}

TEST_CASE("every cheat is a failed case in leaderboard") {
  for (const Row& row : k_rows) expect_one_bad_case("leaderboard", row.plugin, row.words);
}

TEST_CASE("every cheat of eigh_py is a failed case in benchmark") {
  for (const Row& row : k_eigh_rows) expect_one_bad_case("benchmark", row.plugin, row.words);
}

TEST_CASE("every cheat of eigh_py is a failed case in leaderboard") {
  for (const Row& row : k_eigh_rows) expect_one_bad_case("leaderboard", row.plugin, row.words);
}

TEST_CASE("cheats are caught after a warm-up as well") {
  for (const std::string plugin : {"cached_by_address", "all_in_first_call", "wrong_when_timed"}) {
    const Outcome outcome =
        run_kbench("benchmark", k_bad_case, test_plugin(plugin), {"--repeats", "10"});
    INFO(plugin << "\n" << outcome.lines);
    CHECK(outcome.status == 112);
  }
}

TEST_CASE("one bad matrix among 640 is found and named") {
  for (const char* mode : {"benchmark", "leaderboard"}) {
    const Outcome outcome = run_kbench(mode, "batch: 640; n: 8; cond: 1; seed: 6\n",
                                       test_plugin("one_bad_matrix"), short_run("one_bad_matrix"));
    CHECK(outcome.status == 112);
    CHECK_THAT(outcome.line("benchmark.0.error"), ContainsSubstring("(matrix 639 of 640: "));
  }
}

TEST_CASE("a plug-in that remembers what it has seen sees nothing twice") {
  for (const std::string plugin : {"cached_by_content", "eigh_cached_by_content"}) {
    expect_useless_memory(plugin);
  }
}

TEST_CASE(
    "a plug-in that knows rearranged matrices again is slower where they are new, and fails") {
  const std::string plugin = "eigh_knows_rearranged";
  for (const std::string kind : {"spectrum", "clustered"}) {
    const Outcome outcome =
        run_kbench("benchmark", "batch: 16; n: 32; cond: 2; seed: 1; case: " + kind + "\n",
                   test_plugin(plugin), {"--no-warmup", "--repeats", "4", "--call-timeout", "20"});
    INFO(kind << "\n" << outcome.lines);
    CHECK(outcome.status == 112);
    CHECK_THAT(outcome.line("benchmark.0.error"),
               StartsWith("a call takes ") && ContainsSubstring("in 13 audit repeats"));
  }
}

TEST_CASE("a failed case names the nonce, and with it fails in the same way again") {
  const auto run = [](const Words& options) {
    const std::string plugin = "cached_by_address";
    return run_kbench("benchmark", k_bad_case, test_plugin(plugin), short_run(plugin, options));
  };
  const std::string error = run({}).line("benchmark.0.error");
  INFO(error);
  const std::size_t at = error.find("--nonce ");
  REQUIRE(at != std::string::npos);
  const std::string nonce =
      error.substr(at + 8, error.find_first_not_of("0123456789", at + 8) - (at + 8));
  CHECK(run({"--nonce", nonce}).line("benchmark.0.error") == error);
}

TEST_CASE("every CUDA cheat is a failed case", "[gpu]") {
  for (const char* mode : {"benchmark", "leaderboard"}) {
    for (const Row& row : k_rows) {
      if (row.on_cuda) expect_one_bad_case(mode, "cuda_" + row.plugin, row.words);
    }
    for (const Row& row : k_cuda_rows) expect_one_bad_case(mode, row.plugin, row.words);
  }
}

TEST_CASE("every CUDA cheat of eigh_py is a failed case", "[gpu]") {
  for (const char* mode : {"benchmark", "leaderboard"}) {
    for (const Row& row : k_eigh_rows) {
      if (row.on_cuda) expect_one_bad_case(mode, "cuda_" + row.plugin, row.words);
    }
    for (const Row& row : k_cuda_eigh_rows) expect_one_bad_case(mode, row.plugin, row.words);
  }
}

TEST_CASE("a CUDA plug-in that remembers what it has seen sees nothing twice", "[gpu]") {
  for (const std::string plugin : {"cuda_cached_by_content", "cuda_eigh_cached_by_content"}) {
    expect_useless_memory(plugin);
  }
}
