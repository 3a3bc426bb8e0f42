// What a run says of the circumstances of its figures.
#include <nlohmann/json.hpp>

#include "catch.h"
#include "kbench_process.h"

using nlohmann::json;

namespace {

std::string case_line(const std::string& kind) {
  return "batch: 2; n: 4; cond: 1; seed: 5; case: " + kind + "\n";
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

}  // namespace

TEST_CASE("clocks stand in the document, and a warning below the case when they moved") {
  const Tree tree;
  const std::string file = tree.write("f.txt", case_line("dense") + case_line("hot"));
  const Outcome outcome =
      kbench_run(tree, {"benchmark", file, "--problem", "qr_v2", "--json", tree.path("r.json")});
  CHECK(outcome.status == 0);
  const std::string hot_row = outcome.out.substr(outcome.out.find("case: hot"));
  for (const char* words : {"warning: the SM clock moved by -11.4 % during the timed repeats",
                            "warning: the GPU throttles because of heat (sw_thermal_slowdown"}) {
    CHECK(count(outcome.out, words) == 1);
    CHECK(count(hot_row, words) == 1);
  }

  const json document = json::parse(tree.read("r.json"));
  const json& cool = document["cases"][0]["clocks"];
  CHECK(cool == json::parse(R"({"before": null, "after": null, "absent": null})"));
  const json& hot = document["cases"][1]["clocks"];
  CHECK(hot["before"]["sm_mhz"] == 1980);
  CHECK(hot["before"]["throttle_reasons"] == json({"sw_power_cap"}));
  CHECK(hot["after"]["temperature_c"] == 87);
  CHECK(hot["after"]["power_w"] == 699.0);
  CHECK(hot["after"]["throttle_reasons"] == json({"sw_power_cap", "sw_thermal_slowdown"}));
}

TEST_CASE("that nobody watches the clocks is said once and does no harm") {
  const Tree tree;
  const std::string file = tree.write("f.txt", case_line("clockless") + case_line("clockless"));
  const Outcome outcome =
      kbench_run(tree, {"benchmark", file, "--problem", "qr_v2", "--json", tree.path("r.json")});
  CHECK(outcome.status == 0);
  CHECK(count(outcome.err, "clocks are not watched: no NVML (`libnvidia-ml.so.1` cannot") == 1);
  const json document = json::parse(tree.read("r.json"));
  CHECK_THAT(document["cases"][1]["clocks"]["absent"].get<std::string>(), StartsWith("no NVML"));
}

TEST_CASE("queued figures stand beside the public ones, in the table and the document") {
  const Tree tree;
  const std::string file = tree.write("f.txt", case_line("dense"));
  const Outcome outcome = kbench_run(tree, {"benchmark", file, "--problem", "qr_v2", "--json",
                                            tree.path("r.json"), "--launch", "queued"});
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.out,
             ContainsSubstring("\n    queued: 850 ns median, 800 ns best of 2 (every launch was "
                               "enqueued before the first began)\n"));
  const json document = json::parse(tree.read("r.json"));
  const json& one = document["cases"][0];
  CHECK(one["summary_ns"]["mean"] == 1250.0);
  CHECK(one["queued"]["held_by"] == "hold");
  CHECK(one["queued"]["reason"].is_null());
  CHECK(one["queued"]["samples_ns"] == json({800.0, 900.0}));
  CHECK(one["queued"]["summary_ns"]["mean"] == 850.0);
  CHECK(one["comparable"] == true);
}

TEST_CASE("under a profiler nothing is held back, and the result says why") {
  const Tree tree;
  const std::string file = tree.write("f.txt", case_line("dense"));
  for (const char* launch : {"queued", "public"}) {
    const Outcome outcome = kbench_run(tree,
                                       {"benchmark", file, "--problem", "qr_v2", "--json",
                                        tree.path("r.json"), "--launch", launch},
                                       {{"NSYS_PROFILING_SESSION_ID", "1"}});
    CHECK(outcome.status == 0);
    const json document = json::parse(tree.read("r.json"));
    const json& queued = document["cases"][0]["queued"];
    if (std::string(launch) == "public") {
      CHECK(queued.is_null());
      continue;
    }
    CHECK(queued["held_by"] == "none");
    CHECK(queued["reason"] == "run under nsys, which may run one launch at a time");
    CHECK(queued["samples_ns"].empty());
    CHECK(queued["summary_ns"].is_null());
    CHECK_THAT(outcome.out, ContainsSubstring("    queued: no figure (run under nsys, which"));
  }
}

TEST_CASE("what two events cost for nothing is told, and warned of where it is much") {
  const Tree tree;
  const std::string file = tree.write("f.txt", case_line("costly") + case_line("dense"));
  const Outcome outcome =
      kbench_run(tree, {"benchmark", file, "--problem", "qr_v2", "--json", tree.path("r.json")});
  CHECK_THAT(outcome.out,
             ContainsSubstring(", clock steady_clock; nothing between two events 130 ns, an empty "
                               "kernel 270 ns (540 ns on an idle device)\n"));
  const json document = json::parse(tree.read("r.json"));
  CHECK(document["cases"][0]["launch_costs_ns"] ==
        json::parse(R"({"event_pair": 130.0, "empty_kernel": 270.0, "empty_kernel_idle": 540.0})"));
  CHECK(document["cases"][1]["launch_costs_ns"]["event_pair"].is_null());
  const std::string words =
      "two events with nothing between them show 130 ns already, 5 % of a repeat";
  CHECK(count(document["cases"][0]["warnings"].dump(), words) == 1);
  CHECK(count(document["cases"][1]["warnings"].dump(), "event cost") == 0);
}

TEST_CASE("result lines say that figures are no ranking, and nothing of it else") {
  const Tree tree;
  const std::string file = tree.write("f.txt", case_line("dense"));
  const PopcornOutcome profiled = popcorn_run(tree, {"benchmark", file, "--problem", "qr_v2"},
                                              {{"NSYS_PROFILING_SESSION_ID", "1"}});
  CHECK_THAT(profiled.lines, ContainsSubstring("\nbenchmark.0.not_comparable: run under nsys\n"));
  const PopcornOutcome plain = popcorn_run(tree, {"benchmark", file, "--problem", "qr_v2"});
  CHECK_THAT(plain.lines, !ContainsSubstring("not_comparable"));
}
