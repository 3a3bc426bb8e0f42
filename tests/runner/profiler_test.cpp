// A run that a tool from outside watches: known by the environment, or by CUPTI's own word.
#include <nlohmann/json.hpp>

#include "catch.h"
#include "kbench_process.h"

using nlohmann::json;

namespace {

constexpr const char* k_dense = "batch: 2; n: 4; cond: 1; seed: 5\n";

struct Run : Outcome {
  json document;
  std::string log;
  bool asked() const { return log.find("asked for CUPTI") != std::string::npos; }
  bool held_back() const { return log.find("queued") != std::string::npos; }
};

Run run(const std::vector<std::string>& options, Environment environment,
        const std::string& verb = "benchmark") {
  const Tree tree;
  std::vector<std::string> arguments = {
      verb, tree.write("f.txt", k_dense), "--problem", "qr_v2", "--json", tree.path("r.json")};
  arguments.insert(arguments.end(), options.begin(), options.end());
  environment["FAKE_LOG"] = tree.path("log");
  Run result;
  static_cast<Outcome&>(result) = kbench_run(tree, arguments, environment);
  result.log = tree.read("log");
  result.document = json::parse(tree.read("r.json"), nullptr, false);
  return result;
}

}  // namespace

TEST_CASE(
    "CUPTI is asked who holds it where something hints at a tool or a hold may wait for one") {
  struct Row {
    std::vector<std::string> options;
    Environment environment;
    bool asked;
    std::string verb = "benchmark";
  };
  const Environment hint = {{"CUDA_INJECTION64_PATH", "/a/lib.so"}};
  const Environment proof = {{"CUDA_INJECTION64_PATH", "/a/lib.so"},
                             {"NSYS_PROFILING_SESSION_ID", "1"}};
  const std::vector<Row> rows = {
      {{}, {}, false},
      {{}, hint, true},
      {{}, {{"NVTX_INJECTION64_PATH", "/a/lib.so"}}, true},
      {{}, proof, false},
      {{"--cupti", "off"}, hint, false},
      {{"--launch", "queued"}, {}, true},
      {{"--launch", "queued", "--cupti", "off"}, {}, false},
      {{"--launch", "queued"}, proof, false},
      {{}, hint, true, "profile"},
      {{}, hint, false, "test"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.options, row.environment, row.verb);
    const Run result = run(row.options, row.environment, row.verb);
    CHECK(result.status == 0);
    CHECK(result.asked() == row.asked);
  }
}

TEST_CASE("a tool that CUPTI names counts as one that the environment names") {
  const Run result = run({"--launch", "queued"}, {{"FAKE_CUPTI", "Nsight Compute"}});
  CHECK(result.status == 0);
  CHECK_THAT(result.err,
             ContainsSubstring("running under ncu (it holds CUPTI): the figures are not "
                               "comparable, CUPTI is left alone; 1 timed repeat, no warm-up"));
  CHECK_THAT(result.out, ContainsSubstring("not comparable: run under ncu\n"));
  CHECK(result.document["profiler"] == "ncu");
  const json& one = result.document["cases"][0];
  CHECK(one["comparable"] == false);
  CHECK(one["not_comparable_reason"] == "run under ncu");
  CHECK_FALSE(result.held_back());
  CHECK(one["queued"]["held_by"] == "none");
  CHECK(one["queued"]["reason"] == "run under ncu, which may run one launch at a time");
}

TEST_CASE("an unknown holder is named as it names itself") {
  const Run result = run({}, {{"CUDA_INJECTION64_PATH", "/a/lib.so"}, {"FAKE_CUPTI", "mine"}});
  CHECK(result.status == 0);
  CHECK_THAT(result.err, ContainsSubstring("running under mine (it holds CUPTI): "));
  CHECK(result.document["profiler"] == "mine");
}

TEST_CASE("CUPTI that nobody holds changes nothing") {
  for (const char* holder : {"nobody", "missing"}) {
    const Run result =
        run({"--launch", "queued"}, {{"NVTX_INJECTION64_PATH", "/a"}, {"FAKE_CUPTI", holder}});
    CHECK(result.status == 0);
    CHECK(result.held_back());
    CHECK_THAT(result.err, !ContainsSubstring("running under"));
    CHECK(result.document["profiler"].is_null());
    CHECK(result.document["cases"][0]["comparable"] == true);
  }
}

TEST_CASE("a hint that may not be followed up is enough to hold nothing back") {
  const Run result =
      run({"--launch", "queued", "--cupti", "off"}, {{"CUDA_INJECTION64_PATH", "/a/lib.so"}});
  CHECK(result.status == 0);
  CHECK_FALSE(result.held_back());
  CHECK(result.document["cases"][0]["queued"]["reason"] ==
        "`CUDA_INJECTION64_PATH` is set, and `--cupti off` forbids to ask whether a tool is there");
}

TEST_CASE("CUPTI that is demanded and cannot be had ends the run") {
  struct Row {
    Environment environment;
    std::string words;
  };
  const std::vector<Row> rows = {
      {{}, "`--cupti on` needs a CUDA device (this run is on the host)"},
      {{{"FAKE_CUPTI", "Nsight Systems"}},
       "`--cupti on` cannot be had (Nsight Systems holds CUPTI: subscribing failed (39)); run "},
      {{{"FAKE_CUPTI", "missing"}}, "`--cupti on` cannot be had: `libcupti.so.13` was not found"},
  };
  for (const Row& row : rows) {
    const Run result = run({"--cupti", "on"}, row.environment);
    CHECK(result.status == 110);
    CHECK_THAT(result.err, ContainsSubstring(row.words));
  }
  CHECK(run({"--cupti", "on"}, {{"FAKE_CUPTI", "nobody"}}).status == 0);
}

TEST_CASE("every tool of the environment is named once on stderr, in every mode") {
  struct Row {
    Environment environment;
    std::string tool;
  };
  const std::vector<Row> rows = {
      {{{"NSYS_PROFILING_SESSION_ID", "1"}}, "nsys"},
      {{{"NV_SANITIZER_INJECTION_PORT_BASE", "1"}}, "compute-sanitizer"},
      {{{"NV_NSIGHT_INJECTION_PORT_BASE", "1"}}, "ncu"},
      {{{"DG_USE_NVIDIA_TOOLS", "1"}}, "nvidia-tools"},
  };
  for (const Row& row : rows) {
    for (const char* verb : {"test", "benchmark", "leaderboard", "profile"}) {
      CAPTURE(row.tool, verb);
      const Run result = run({}, row.environment, verb);
      CHECK(result.status == 0);
      const std::string line = "running under " + row.tool + " (`";
      CHECK_THAT(result.err, ContainsSubstring(line));
      CHECK(result.err.find(line) == result.err.rfind(line));
      CHECK(result.document["profiler"] == row.tool);
    }
  }
}
