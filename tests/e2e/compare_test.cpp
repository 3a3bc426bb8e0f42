// `kbench compare` with real workers and kernels.
#include <string>

#include "catch.h"
#include "program.h"

using namespace kbench::test;

namespace {

constexpr const char* k_tiny = "batch: 4; n: 8; cond: 1; seed: 5\n";

}  // namespace

TEST_CASE("two plug-ins are measured in pairs, and the comparison is a document") {
  const Outcome outcome =
      compare_kernels({test_plugin("good_row_major"), test_plugin("good_column_major")},
                      std::string(k_tiny) + k_tiny, {"--repeats", "4", "--no-warmup"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  const auto& document = outcome.document;
  CHECK(document["schema"] == "kbench.comparison/1");
  CHECK(document["paired"] == true);
  CHECK(document["finished"] == true);
  CHECK(document["kernels"][1]["name"] == "good_column_major");
  REQUIRE(document["cases"].size() == 2);
  for (const auto& row : document["cases"]) {
    CHECK(row["times"][0]["samples_ns"].size() == 4);
    CHECK(row["times"][1]["samples_ns"].size() == 4);
    CHECK(row["times"][1]["error"].is_null());
    CHECK(row["times"][1]["worst_of_gate"].get<double>() > 0);
    CHECK(row["ratios"][0]["ratio"].get<double>() > 0);
    CHECK(row["ratios"][0]["interval"].is_null());  // of four pairs there is none
    CHECK(row["ratios"][0]["verdict"] == "undecided");
    CHECK(row["fresh_inputs"] == "on");
  }
  CHECK(document["means"].size() == 1);
}

TEST_CASE("a plug-in that fails its checks has no ratio, and the other one is unharmed") {
  for (const char* plugin : {"nan_output", "segfault", "wrong_later"}) {
    CAPTURE(plugin);
    const Outcome outcome =
        compare_kernels({test_plugin("good_row_major"), test_plugin(plugin)},
                        "batch: 4; n: 8; cond: 1; seed: 5\nbatch: 1; n: 8; cond: 1; seed: 6\n",
                        {"--repeats", "12", "--no-warmup"});
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status == 112);
    const auto& cases = outcome.document["cases"];
    REQUIRE(cases.size() == 2);
    CHECK(cases[0]["ratios"].empty());
    CHECK(cases[0]["times"][0]["error"].is_null());
    CHECK(cases[0]["times"][1]["error"].is_string());
    CHECK(cases[1]["ratios"].size() == 1);
  }
}

TEST_CASE("on a GPU a kernel against itself names no winner", "[gpu]") {
  constexpr int k_runs = 10;
  int decided = 0;
  std::string said;
  for (int run = 0; run < k_runs; ++run) {
    const Outcome outcome =
        compare_kernels({"cusolver", "cusolver"}, "batch: 20; n: 32; cond: 1; seed: 43214\n",
                        {"--problem", "qr_v2", "--device", "cuda"});
    REQUIRE(outcome.status == 0);
    if (outcome.out.find("\n0 faster, 0 slower") != std::string::npos) continue;
    ++decided;
    said += outcome.out;
  }
  INFO(said);
  CHECK(decided == 0);
}

TEST_CASE("on a GPU a kernel that is many times slower is found so", "[gpu]") {
  const Outcome outcome =
      compare_kernels({"blocked", "cusolver"}, "batch: 640; n: 512; cond: 2; seed: 1029\n",
                      {"--problem", "qr_v2", "--device", "cuda", "--fail-if-slower", "50"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 112);
  CHECK(outcome.document["cases"][0]["ratios"][0]["verdict"] == "slower");
}
