// Fresh inputs and the run's nonce: what the worker is told, what the results keep, and how a
// failure is repeated.
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "catch.h"
#include "kbench_process.h"
#include "runner/report.h"

using namespace kbench;
using nlohmann::json;

namespace {

constexpr const char* k_advice = "; reproduce with --nonce 7";

std::string case_line(const std::string& name) {
  return "batch: 2; n: 4; cond: 1; seed: 5; case: " + name + "\n";
}

/// The `fresh=... nonce=...` lines of the jobs in order.
std::vector<std::string> fresh_lines(const Tree& tree) {
  std::vector<std::string> lines;
  std::istringstream log(tree.read("log"));
  for (std::string line; std::getline(log, line);) {
    if (line.rfind("fresh=", 0) == 0) lines.push_back(line);
  }
  return lines;
}

CaseRecord failed_case(const std::string& error) {
  CaseRecord row;
  row.ended = true;
  row.error = error;
  row.fresh_inputs = "on";
  row.nonce = 7;
  return row;
}

}  // namespace

TEST_CASE("every measured case of a run is told the same nonce and whether inputs are fresh") {
  const Tree tree;
  const std::string file = tree.write("f.txt", case_line("dense") + case_line("fixed"));
  struct Row {
    std::vector<std::string> arguments;
    Environment environment;
    std::string line;
  };
  const std::vector<Row> rows = {
      {{"benchmark", "--nonce", "12"}, {}, "fresh=true nonce=12"},
      {{"--nonce=12", "leaderboard"}, {}, "fresh=true nonce=12"},
      {{"benchmark", "--nonce", "18446744073709551615", "--fresh-inputs", "on"},
       {},
       "fresh=true nonce=18446744073709551615"},
      {{"benchmark", "--fresh-inputs", "off", "--nonce", "12"}, {}, "fresh=false nonce=12"},
      {{"benchmark"},
       {{"KBENCH_FRESH_INPUTS", "off"}, {"KBENCH_NONCE", "3"}},
       "fresh=false nonce=3"},
      {{"test"}, {{"KBENCH_FRESH_INPUTS", "on"}, {"KBENCH_NONCE", "3"}}, "fresh=false nonce=0"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.arguments);
    tree.write("log", "");
    std::vector<std::string> arguments = row.arguments;
    arguments.insert(arguments.end(), {file, "--problem", "qr_v2"});
    Environment environment = row.environment;
    environment["FAKE_LOG"] = tree.path("log");
    CHECK(kbench_run(tree, arguments, environment).status == 0);
    CHECK(fresh_lines(tree) == std::vector<std::string>{row.line, row.line});
  }
}

TEST_CASE("without --nonce each run draws one, which any reader of JSON keeps") {
  const Tree tree;
  const std::string file = tree.write("f.txt", case_line("dense") + case_line("dense"));
  std::set<std::string> drawn;
  for (int run = 0; run < 3; ++run) {
    tree.write("log", "");
    kbench_run(tree, {"benchmark", file, "--problem", "qr_v2", "--json", tree.path("r.json")},
               {{"FAKE_LOG", tree.path("log")}});
    const std::vector<std::string> lines = fresh_lines(tree);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] == lines[1]);
    drawn.insert(lines[0]);
    const json document = json::parse(tree.read("r.json"));
    const auto nonce = document["cases"][0]["nonce"].get<std::uint64_t>();
    CHECK(lines[0] == "fresh=true nonce=" + std::to_string(nonce));
    CHECK(nonce < std::uint64_t{1} << 53);
  }
  CHECK(drawn.size() == 3);
}

TEST_CASE("the document keeps what each case says of its inputs, its audits and its floor") {
  const Tree tree;
  const std::string file = tree.write(
      "f.txt", case_line("dense") + case_line("fixed") + case_line("segv") + case_line("dense"));
  struct Row {
    std::string verb, fresh;
    std::vector<json> fresh_inputs, nonces;
  };
  const std::vector<Row> rows = {
      {"benchmark", "auto", {"on", "fixed", "on", "on"}, {7, 7, 7, 7}},
      {"benchmark", "off", {"off", "fixed", "off", "off"}, {7, 7, 7, 7}},
      {"leaderboard", "auto", {"on", "fixed", "on", nullptr}, {7, 7, 7, nullptr}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.verb, row.fresh);
    kbench_run(tree, {row.verb, file, "--problem", "qr_v2", "--json", tree.path("r.json"),
                      "--nonce", "7", "--fresh-inputs", row.fresh});
    const json cases = json::parse(tree.read("r.json"))["cases"];
    REQUIRE(cases.size() == 4);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      CAPTURE(i);
      CHECK(cases[i]["fresh_inputs"] == row.fresh_inputs[i]);
      CHECK(cases[i]["nonce"] == row.nonces[i]);
    }
    CHECK(cases[0]["audit_repeats"] == 2);
    CHECK(cases[0]["floor_ns"] == 125.0);
    CHECK(cases[0]["floor_reason"] == "half of 2 KiB over 8 GB/s");
    CHECK(cases[2]["audit_repeats"] == 0);
    CHECK(cases[2]["floor_ns"] == 0.0);
    CHECK(cases[2]["floor_reason"].is_null());
  }
  kbench_run(tree, {"test", file, "--problem", "qr_v2", "--json", tree.path("r.json")});
  const json test = json::parse(tree.read("r.json"))["cases"][0];
  CHECK(test["fresh_inputs"].is_null());
  CHECK(test["nonce"].is_null());
}

TEST_CASE("a failure with fresh inputs says how to see it again, in every output") {
  const Tree tree;
  struct Row {
    std::string name, words;
  };
  const std::vector<Row> rows = {
      {"wrong", "factor: matrix 3: 7 > 2"},
      {"segv", "worker killed by SIGSEGV before replying"},
      {"exit0", "worker exited with status 0 before replying"},
      {"impossible", "impossible time: mean 100 ns (floor 125 ns)"},
      {"nosamples", "no sound time (0 samples, not all finite and above 0)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const std::string file = tree.write("f.txt", case_line(row.name));
    for (const std::string fresh : {"auto", "off"}) {
      const PopcornOutcome outcome =
          popcorn_run(tree, {"benchmark", file, "--problem", "qr_v2", "--nonce", "7", "--json",
                             tree.path("r.json"), "--fresh-inputs", fresh});
      CHECK(outcome.status == 112);
      const std::string words = row.words + (fresh == "off" ? "" : k_advice);
      CHECK_THAT(outcome.out, ContainsSubstring("FAIL  " + words + "\n"));
      CHECK_THAT(outcome.lines, ContainsSubstring("benchmark.0.error: " + words + "\ncheck: fail"));
      CHECK(json::parse(tree.read("r.json"))["cases"][0]["error"] == words);
    }
    CHECK_THAT(kbench_run(tree, {"test", file, "--problem", "qr_v2"}).out,
               !ContainsSubstring("nonce"));
  }
}

TEST_CASE("an impossible time keeps its samples and its floor and is no figure") {
  const Tree tree;
  const std::string file = tree.write("f.txt", case_line("impossible"));
  kbench_run(tree, {"leaderboard", file, "--problem", "qr_v2", "--json", tree.path("r.json")});
  const json document = json::parse(tree.read("r.json"));
  CHECK(document["cases"][0]["status"] == "fail");
  CHECK(document["cases"][0]["floor_ns"] == 125.0);
  CHECK(document["cases"][0]["samples_ns"].size() == 3);
  CHECK(document["cases"][0]["summary_ns"].is_null());
  CHECK(document["problems"][0]["geometric_mean_ns"].is_null());
}

TEST_CASE("what is cut off a long failure is its reason and not how to see it again") {
  const CaseRecord row = failed_case(std::string(500, 'e') + "\n");
  CHECK(failure_text(row) == row.error + k_advice);
  CHECK(failure_text(row, 100) == std::string(100 - 3 - 26, 'e') + "..." + k_advice);
  CHECK(failure_text(row, 40) == std::string(37, 'e') + "...");
  CHECK(failure_text(failed_case("a\nb"), 200) == std::string("a\\nb") + k_advice);
  CHECK(failure_text(failed_case(""), 200) == std::string("failed") + k_advice);
}

TEST_CASE("a failure that comes from outside is not to be repeated") {
  for (const std::string inputs : {"on", "off", "fixed", ""}) {
    CAPTURE(inputs);
    CaseRecord row = failed_case("stopped (interrupted)");
    row.repeatable = inputs != "on";
    row.fresh_inputs = inputs;
    CHECK(failure_text(row) == row.error);
    CHECK(failure_text(row, 200) == row.error);
  }
}
