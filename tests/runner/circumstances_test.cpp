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
  CHECK(cool == json::parse(R"({"before": null, "after": null, "absent": null, "warnings": []})"));
  const json& hot = document["cases"][1]["clocks"];
  CHECK(hot["before"]["sm_mhz"] == 1980);
  CHECK(hot["before"]["throttle_reasons"] == json({"sw_power_cap"}));
  CHECK(hot["after"]["temperature_c"] == 87);
  CHECK(hot["after"]["power_w"] == 699.0);
  CHECK(hot["after"]["throttle_reasons"] == json({"sw_power_cap", "sw_thermal_slowdown"}));
  CHECK(hot["warnings"].size() == 2);
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
