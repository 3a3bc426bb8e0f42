// One run on several devices, with workers that stand for them.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catch.h"
#include "kbench_process.h"

using nlohmann::json;

namespace {

std::string cases(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += "batch: 2; n: 4; cond: 1; seed: 5; case: " + name + "\n";
  }
  return text;
}

struct Run {
  Run(const Tree& tree, const std::vector<std::string>& names,
      const std::vector<std::string>& options, const std::string& mode = "test") {
    tree.write("kernels/qr_v2/cusolver.so", "qr_v2 cuda");
    std::vector<std::string> words = {mode,        tree.write("f.txt", cases(names)),
                                      "--json",    tree.path("r.json"),
                                      "--nonce",   "7",
                                      "--problem", "qr_v2"};
    if (mode == "test") words.erase(words.begin() + 4, words.begin() + 6);
    words.insert(words.end(), options.begin(), options.end());
    outcome = popcorn_run(tree, words, {{"FAKE_BROKEN", tree.path(".")}});
    document = json::parse(tree.read("r.json"), nullptr, false);
  }
  PopcornOutcome outcome;
  json document;
};

}  // namespace

TEST_CASE("results come in the order of the cases and name their device") {
  const Tree tree;
  const Run run(tree, {"slow", "dense", "echo", "wrong"}, {"--devices", "0,1"});
  CHECK(run.outcome.status == 112);
  CHECK_THAT(run.outcome.out, ContainsSubstring("device  case"));
  const json& rows = run.document["cases"];
  CHECK(run.document["places"].size() == 2);
  CHECK(run.document["places"][1]["name"] == "cuda:1");
  CHECK(run.document["places"][1]["device"]["index"] == 1);
  // The slow case holds device 0 while device 1 takes the others.
  CHECK(rows[0]["place"] == 0);
  for (int i = 1; i < 4; ++i) CHECK(rows[i]["place"] == 1);
  std::size_t at = 0;
  for (const char* key : {"test.0.status: pass", "test.1.status: pass", "test.2.status: pass",
                          "test.3.status: fail", "check: fail"}) {
    const std::size_t found = run.outcome.lines.find(key);
    CHECK(found != std::string::npos);
    CHECK(found >= at);
    at = found;
  }
}

TEST_CASE("a device that fails loses its case to another one, and the run goes on") {
  const Tree tree;
  const Run run(tree, {"slow", "breaks", "dense", "dense"}, {"--devices", "0,1"});
  CHECK(run.outcome.status == 0);
  CHECK_THAT(run.outcome.err, ContainsSubstring("cuda:1 is left out from here on (no CUDA device"));
  CHECK_THAT(run.outcome.err, ContainsSubstring("case 1 goes to another device"));
  const json& row = run.document["cases"][1];
  CHECK(row["place"] == 0);
  CHECK_THAT(row["dealt_again"].get<std::string>(), StartsWith("cuda:1: no CUDA device"));
  CHECK_THAT(run.document["places"][1]["lost"].get<std::string>(), StartsWith("no CUDA device"));
}

TEST_CASE("a failure ends its problem in leaderboard, wherever later cases have run") {
  const Tree tree;
  const Run one(tree, {"dense", "wrong", "dense"}, {"--devices", "0"}, "leaderboard");
  const Run two(tree, {"dense", "wrong", "dense"}, {"--devices", "0,1,2"}, "leaderboard");
  for (const Run* run : {&one, &two}) {
    CHECK(run->outcome.status == 112);
    CHECK(run->document["cases"][0]["status"] == "pass");
    CHECK_THAT(run->document["cases"][1]["error"].get<std::string>(), StartsWith("factor: "));
    CHECK(run->document["cases"][2]["error"] == "not run (case 1 failed)");
    CHECK(run->document["cases"][2]["samples_ns"].empty());
  }
}

TEST_CASE("workers that share a device are said to disturb each other") {
  const Tree tree;
  const Run run(tree, {"dense", "dense"}, {"--devices", "host,host"}, "benchmark");
  CHECK(run.document["places"][1]["name"] == "host:1");
  CHECK(run.document["cases"][0]["not_comparable_reason"] == "2 workers share a device");
  const Run alone(tree, {"dense", "dense"}, {"--devices", "host"}, "benchmark");
  CHECK(alone.document["cases"][0]["not_comparable_reason"].is_null());
}

TEST_CASE("a list of devices that makes no sense is refused") {
  const Tree tree;
  const std::string file = tree.write("f.txt", cases({"dense"}));
  struct Row {
    std::vector<std::string> options;
    std::string words;
  };
  const std::vector<Row> rows = {
      {{"--devices", "0,0"}, "`0,0` is no value for `--devices`"},
      {{"--devices", "0,host"}, "`0,host` is no value for `--devices`"},
      {{"--devices", "0,"}, "`0,` is no value for `--devices`"},
      {{"--devices", "auto"}, "`auto` is no value for `--devices`"},
      {{"--devices", "0", "--device", "host"}, "`--device` and `--devices` exclude each other"},
      {{"--devices", "0,1", "--in-process"}, "`--in-process` has one worker"},
  };
  for (const Row& row : rows) {
    std::vector<std::string> words = {"test", file};
    words.insert(words.end(), row.options.begin(), row.options.end());
    const Outcome outcome = kbench_run(tree, words);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err, StartsWith(row.words));
  }
}

TEST_CASE("all devices of a machine without one are an error in words") {
  const Tree tree;
  const std::string file = tree.write("f.txt", cases({"dense"}));
  const Outcome outcome = kbench_run(tree, {"test", file, "--devices", "all"});
  CHECK(outcome.status == 110);
  CHECK_THAT(outcome.err, StartsWith("`--devices all` finds no CUDA device"));
}
