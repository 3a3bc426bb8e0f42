// Ranks with real workers and kernels, and those that share one GPU.
#include <string>

#include "catch.h"
#include "program.h"
#include "together.h"

using namespace kbench::test;

namespace {

constexpr const char* k_cases =
    "batch: 20; n: 32; cond: 1; seed: 43214\n"
    "batch: 4; n: 48; cond: 2; seed: 7; case: mixed\n"
    "batch: 3; n: 33; cond: 1; seed: 8; case: clustered\n";

/// For ranks that have less than a core each.
constexpr const char* k_tiny_cases =
    "batch: 4; n: 8; cond: 1; seed: 5\n"
    "batch: 2; n: 12; cond: 1; seed: 6; case: mixed\n";

Outcome by_two(const char* mode, const Words& options) {
  return run_ranks(KBENCH_MPIRUN, 2, mode, k_cases, shipped_kernel("qr_v2", "cusolver"), options);
}

Words together(const Words& more) {
  Words options = {"--together", "--no-warmup", "--repeats", "12"};
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

}  // namespace

TEST_CASE("2 and 4 ranks run every case at the same time", "[ranks]") {
  for (int ranks : {2, 4}) {
    const Outcome outcome =
        run_ranks(KBENCH_MPIRUN, ranks, "benchmark", k_tiny_cases, test_plugin("good_row_major"),
                  together({"--device", "host"}));
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status == 0);
    REQUIRE(outcome.document["cases"].size() == 2);
    for (const auto& row : outcome.document["cases"]) {
      expect_together(row, static_cast<std::size_t>(ranks), 12);
    }
  }
}

TEST_CASE("two ranks share one GPU when they are told to, with the results of one",
          "[gpu][ranks]") {
  const Outcome alone = run_kbench("test", k_cases, shipped_kernel("qr_v2", "cusolver"),
                                   {"--device", "cuda:0", "--hash-inputs"});
  const Outcome both = by_two("test", {"--device", "cuda:0", "--no-lock", "--hash-inputs"});
  INFO(both.out << both.err);
  CHECK(both.status == 0);
  REQUIRE(both.document["cases"].size() == 3);
  CHECK(both.document["places"][1]["device"]["uuid"] == alone.document["device"]["uuid"]);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto &one = alone.document["cases"][i], &shared = both.document["cases"][i];
    CHECK(shared["status"] == one["status"]);
    CHECK(shared["inputs"][0]["sha256"].is_string());
    CHECK(shared["inputs"][0]["sha256"] == one["inputs"][0]["sha256"]);
  }
}

TEST_CASE("two ranks that share one GPU run together, and the skew says how well", "[gpu][ranks]") {
  const Outcome outcome = by_two("benchmark", together({"--device", "cuda:0", "--no-lock"}));
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  REQUIRE(outcome.document["cases"].size() == 3);
  for (const auto& row : outcome.document["cases"]) {
    expect_together(row, 2, 12);
    // A hold that nobody lets go lasts 2 s.
    CHECK(row["together"]["start_skew"]["summary_ns"]["worst"].get<double>() < 1e9);
  }
}

TEST_CASE("a GPU that one rank uses is refused to the next one", "[gpu][ranks]") {
  for (const Words& devices : {Words{"--devices", "0"}, Words{"--device", "cuda:0"}}) {
    const Outcome outcome = by_two("test", devices);
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status == 110);
    CHECK(outcome.err.find("is taken by process") != std::string::npos);
    CHECK(outcome.err.find("--no-lock") != std::string::npos);
  }
}
