// `--together` with real workers of one kbench.
#include "together.h"

#include <string>

#include "catch.h"
#include "program.h"

using namespace kbench::test;

namespace {

constexpr const char* k_cases =
    "batch: 4; n: 8; cond: 1; seed: 5\n"
    "batch: 2; n: 12; cond: 1; seed: 6; case: mixed\n";

Words together(const Words& more) {
  Words options = {"--together", "--no-warmup", "--repeats", "12"};
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

}  // namespace

TEST_CASE("two workers run every case at the same time") {
  const Outcome outcome = run_kbench("benchmark", k_cases, test_plugin("good_row_major"),
                                     together({"--devices", "host,host"}));
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK(outcome.line("check") == "pass");
  REQUIRE(outcome.document["cases"].size() == 2);
  for (const auto& row : outcome.document["cases"]) expect_together(row, 2, 12);
  CHECK(outcome.out.find("together: 2 workers, medians of 12 repeats") != std::string::npos);
}

TEST_CASE(
    "a kernel that fails in one of the repeats fails the case of all, and the next one runs") {
  for (const char* plugin : {"wrong_later", "segfault", "hang"}) {
    CAPTURE(plugin);
    const Outcome outcome = run_kbench(
        "benchmark",
        "batch: 4; n: 8; cond: 1; seed: 5\n"
        "batch: 1; n: 8; cond: 1; seed: 6\n",
        test_plugin(plugin), together({"--devices", "host,host", "--call-timeout", "0.5"}));
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status == 112);
    REQUIRE(outcome.document["cases"].size() == 2);
    CHECK(outcome.document["cases"][0]["error"].is_string());
    expect_together(outcome.document["cases"][1], 2, 12);
  }
}

TEST_CASE("one GPU alone cannot run together", "[gpu]") {
  const Outcome outcome = run_kbench("benchmark", k_cases, shipped_kernel("qr_v2", "cusolver"),
                                     together({"--devices", "0"}));
  CHECK(outcome.status == 2);
  CHECK(outcome.err.find("`--together` needs several workers (there is one)") != std::string::npos);
}
