// `--resume`: what is taken over, what is refused, and that nothing of a case is lost on the way.
#include "runner/resume.h"

#include <nlohmann/json.hpp>

#include "catch.h"
#include "kbench_process.h"
#include "result_files.h"
#include "runner/case_reader.h"

using namespace kbench;
using namespace kbench::test;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char* k_first = "batch: 2; n: 4; cond: 1; seed: 5\n";
constexpr const char* k_second = "batch: 3; n: 4; cond: 1; seed: 6\n";

CaseRecord full_case() {
  CaseRecord row = measured_case(32, samples_around(1e6));
  row.case_index = 3;
  row.wall_s = 1.5;
  row.kernel.path = "/lib/blocked.so";
  row.kernel.description = "panels";
  row.kernel.device = DeviceKind::cuda;
  row.kernel.synchronises_host = true;
  row.kernel_sha256 = std::string(64, 'a');
  row.nonce = 18446744073709551615u;
  row.dealt_again = "cuda:1: lost";
  row.reply.kernel_report = "fallbacks=0";
  row.reply.warm_up_repeats = 7;
  row.reply.audit_repeats = 4;
  row.reply.audit_call_ns = 1100;
  row.reply.inputs = {{43214, "5e8a", "", 1.5}, {43215, "", "", 2.5}};
  row.reply.queued = QueuedFigures{HoldKind::delay, "waits for the device", 5e5, {800, 900}};
  row.reply.launch_costs = {1500, 2500, 6500};
  row.reply.clocks.before = ClockState{1980, 64, 693.5, 0x1000024};
  row.reply.clocks.after = ClockState{1700, std::nullopt, std::nullopt, std::nullopt};
  row.reply.idle = IdleTime{1e6, 9e5};
  row.reply.create_ms = 1;
  row.reply.first_call_ms = 2;
  row.reply.check_ms = 3;
  row.reply.recheck_ms = 4;
  row.reply.workspace_bytes = 4096;
  row.reply.device_peak_bytes = 1 << 20;
  row.reply.leaked_bytes_per_call = 512;
  return row;
}

Json first_case(const RunRecord& record) { return Json::parse(json_document(record))["cases"][0]; }

Resume former_of(const RunRecord& record) { return {read_back(record), record.cases}; }

RunRecord unrun(RunRecord record) {
  for (CaseRecord& row : record.cases) {
    CaseRecord fresh;
    fresh.spec = row.spec;
    fresh.kernel = row.kernel;
    fresh.kernel_sha256 = row.kernel_sha256;
    row = fresh;
  }
  return record;
}

}  // namespace

TEST_CASE("a case read back from its document and written again is the same") {
  RunRecord record = some_run({full_case()});
  const Json before = first_case(record);
  record.cases[0] = read_case_record(before);
  CHECK(first_case(record) == before);
}

TEST_CASE("measured cases are taken over with their samples and the others are left to run") {
  RunRecord old = some_run({full_case(), failed_case(64, "wrong"), measured_case(128, {5e6, 6e6})});
  RunRecord now = unrun(some_run({measured_case(128, {1}), full_case(), failed_case(64, "")}));
  CHECK(take_over(former_of(old), now) == std::vector<std::size_t>{1, 0});
  CHECK(now.cases[0].reply.samples_ns == std::vector<double>{5e6, 6e6});
  CHECK(now.cases[0].resumed_from == old.started);
  CHECK(now.cases[0].passed);
  CHECK_FALSE(now.cases[2].ended);
  CHECK(resumed_cases(now) == 2);
}

TEST_CASE("a case that was taken over before keeps the run that measured it") {
  RunRecord old = some_run({full_case()});
  old.cases[0].resumed_from = "2026-11-01T00:00:00Z";
  RunRecord now = unrun(old);
  take_over(former_of(old), now);
  CHECK(now.cases[0].resumed_from == "2026-11-01T00:00:00Z");
}

TEST_CASE("a run that differs in more than time is named as such") {
  struct Row {
    const char* words;
    void (*change)(RunRecord& record);
  };
  const std::vector<Row> rows = {
      {"device (", [](RunRecord& r) { r.device->uuid = "GPU-2"; }},
      {"driver (`580.1` and `590`)", [](RunRecord& r) { r.device->driver = "590"; }},
      {"mode (", [](RunRecord& r) { r.mode = find_mode("leaderboard"); }},
      {"warm-up (`on` and `off`)", [](RunRecord& r) { r.warm_up = false; }},
      {"profiler (`none` and `nsys`)", [](RunRecord& r) { r.profiler = "nsys"; }},
      {"what makes them not comparable (`nothing` and `--repeats 5`)",
       [](RunRecord& r) { r.not_comparable = "--repeats 5"; }},
      {"kernel (`blocked, build aaaaaaaaaaaa` and `blocked, build bbb`)",
       [](RunRecord& r) { r.cases[0].kernel_sha256 = "bbb"; }},
      {"kernel (", [](RunRecord& r) { r.cases[0].kernel.name = "cusolver"; }},
  };
  RunRecord old = some_run({full_case()});
  const Resume former = former_of(old);
  CHECK(resume_differences(former, unrun(old), Launch::queued, true).empty());
  for (const Row& row : rows) {
    CAPTURE(row.words);
    RunRecord now = unrun(old);
    row.change(now);
    const auto found = resume_differences(former, now, Launch::queued, true);
    REQUIRE(found.size() == 1);
    CHECK_THAT(found.front(), StartsWith(row.words));
  }
  CHECK(
      resume_differences(former, unrun(old), Launch::as_called, false) ==
      std::vector<std::string>{"launch (`queued` and `public`)", "fresh inputs (`on` and `off`)"});
}

TEST_CASE("a run goes on in its own document and measures only what is missing") {
  const Tree tree;
  const std::string json = tree.path("r.json"), log = tree.path("log");
  const std::string one = tree.write("one.txt", k_first);
  const std::string two = tree.write("two.txt", std::string(k_second) + k_first);
  REQUIRE(kbench_run(tree, {"benchmark", one, "--problem", "qr_v2", "--json", json}).status == 0);
  const Json before = Json::parse(tree.read("r.json"));
  const Outcome outcome =
      kbench_run(tree,
                 {"benchmark", two, "--problem", "qr_v2", "--json", json, "--resume", json, "--csv",
                  tree.path("r.csv"), "--markdown", tree.path("r.md")},
                 {{"FAKE_LOG", log}});
  CAPTURE(outcome.err);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.err, ContainsSubstring("1 of 2 cases are taken over from"));
  CHECK_THAT(outcome.out, ContainsSubstring("2 passed, 0 failed (1 resumed)"));
  CHECK_THAT(outcome.out, ContainsSubstring("geometric mean of qr_v2"));
  CHECK_THAT(tree.read("log"), ContainsSubstring("3x4"));
  CHECK_THAT(tree.read("log"), !ContainsSubstring("2x4"));
  const Json after = Json::parse(tree.read("r.json"));
  CHECK(after["cases"][0]["resumed_from"].is_null());
  CHECK(after["cases"][1]["resumed_from"] == before["started"]);
  CHECK(after["cases"][1]["samples_ns"] == before["cases"][0]["samples_ns"]);
  CHECK(after["cases"][1]["nonce"] == before["cases"][0]["nonce"]);
  CHECK_FALSE(after["problems"][0]["geometric_mean_ns"].is_null());
  const std::string started = before["started"];
  CHECK_THAT(tree.read("r.csv"), ContainsSubstring(started));
  CHECK_THAT(tree.read("r.md"),
             ContainsSubstring("case 1: resumed, measured in the run of " + started));
}

TEST_CASE("results that are not of this run are refused and left as they were") {
  const Tree tree;
  const std::string json = tree.path("r.json"), file = tree.write("f.txt", k_first);
  REQUIRE(kbench_run(tree, {"benchmark", file, "--problem", "qr_v2", "--json", json}).status == 0);
  const std::string before = tree.read("r.json");
  struct Row {
    std::vector<std::string> arguments;
    std::string words;
  };
  const std::vector<Row> rows = {
      {{"benchmark", "--repeats", "3"}, "differ in what makes them not comparable (`nothing`"},
      {{"benchmark", "--no-warmup"}, "differ in warm-up (`on` and `off`)"},
      {{"benchmark", "--fresh-inputs", "off"}, "differ in fresh inputs (`on` and `off`)"},
      {{"leaderboard"}, "differ in mode (`benchmark` and `leaderboard`)"},
  };
  for (const Row& row : rows) {
    std::vector<std::string> arguments = row.arguments;
    arguments.insert(arguments.end(),
                     {file, "--problem", "qr_v2", "--json", json, "--resume", json});
    const Outcome outcome = kbench_run(tree, arguments);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err, ContainsSubstring(row.words));
    CHECK(tree.read("r.json") == before);
  }
  const PopcornOutcome popcorn = popcorn_run(tree, {"benchmark", file, "--resume", json});
  CHECK(popcorn.status == 2);
  CHECK_THAT(popcorn.err, ContainsSubstring("`--resume` is refused while `POPCORN_FD` is set"));
  const Outcome together = kbench_run(
      tree, {"benchmark", file, "--resume", json, "--together", "--devices", "host,host"});
  CHECK(together.status == 2);
  CHECK_THAT(together.err, ContainsSubstring("`--together` and `--resume` exclude each other"));
  const Outcome over = kbench_run(tree, {"benchmark", file, "--resume", json, "--csv", json});
  CHECK(over.status == 2);
  CHECK_THAT(over.err, ContainsSubstring("results to resume"));
  CHECK(tree.read("r.json") == before);
}
