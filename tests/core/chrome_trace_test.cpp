// The Chrome trace, read back as JSON and compared with the records it was written from.
#include "core/chrome_trace.h"

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "catch.h"
#include "trace_records.h"

namespace kbench {
namespace {

using Json = nlohmann::json;
using test::Records;

Records two_repeats() {
  Records records;
  records.repeat(0, false).add("warm", 5000, 6000);
  records.repeat(1);
  records.add("memset", 100, 4100, 7, ActivityKind::memset).tag = k_flush_tag;
  Activity& panel = records.add("panel \"<8>\"", 5000, 15001);
  panel.grid = {640, 1, 1};
  panel.block = {256, 1, 1};
  panel.registers = 64;
  records.add("panel \"<8>\"", 12000, 20000);  // overlaps on its stream
  records.add("copy", 20000, 21000, 9, ActivityKind::memcpy).bytes = 4096;
  records.repeat(2).add("panel \"<8>\"", 5000, 15000);
  return records;
}

std::vector<Json> slices(const Json& document) {
  std::vector<Json> found;
  for (const Json& event : document.at("traceEvents")) {
    if (event.at("ph") == "X") found.push_back(event);
  }
  return found;
}

Json written(const Trace& trace) {
  std::ostringstream out;
  write_chrome_trace(out, trace, "batch: 2; n: 3\xff");
  return Json::parse(out.str());
}

TEST_CASE("every record of an active repeat is in the Chrome trace, with its duration") {
  const Records records = two_repeats();
  const Json document = written(records.trace);
  std::map<std::string, std::vector<double>> durations;
  for (const Json& slice : slices(document)) {
    durations[slice.at("name")].push_back(slice.at("dur").get<double>());
  }
  CHECK(durations.count("warm") == 0);
  CHECK(durations.at("panel \"<8>\"") == std::vector<double>{10.001, 8.0, 10.0});
  CHECK(durations.at("flush: memset") == std::vector<double>{4.0});
  CHECK(durations.at("copy") == std::vector<double>{1.0});
  CHECK(durations.at("repeat 1") == std::vector<double>{100.0});
  CHECK(durations.at("custom_kernel") == std::vector<double>{8.0, 8.0});
  CHECK(durations.at("span") == std::vector<double>{16.0, 10.0});
  CHECK(document.at("otherData").at("case") == "batch: 2; n: 3\xef\xbf\xbd");
}

TEST_CASE("slices of a track nest, and kernels lie inside their repeat") {
  const Json document = written(two_repeats().trace);
  std::map<std::pair<int, std::int64_t>, std::vector<std::pair<double, double>>> tracks;
  std::vector<std::pair<double, double>> repeats;
  for (const Json& slice : slices(document)) {
    const double begin = slice.at("ts").get<double>();
    const double end = begin + slice.at("dur").get<double>();
    tracks[{slice.at("pid").get<int>(), slice.at("tid").get<std::int64_t>()}].push_back(
        {begin, end});
    if (slice.at("cat") == "repeat") repeats.push_back({begin, end});
  }
  REQUIRE(repeats.size() == 2);
  CHECK(repeats.front().first == 0);
  for (const auto& [track, stretches] : tracks) {
    CAPTURE(track.first, track.second);
    for (std::size_t i = 0; i < stretches.size(); ++i) {
      const auto [begin, end] = stretches[i];
      CHECK(std::any_of(repeats.begin(), repeats.end(), [&, b = begin, e = end](const auto& r) {
        return b >= r.first && e <= r.second;
      }));
      for (std::size_t k = 0; k < i; ++k) {
        CHECK((stretches[k].second <= begin || stretches[k].first >= end));
      }
    }
  }
}

TEST_CASE("a kernel says its launch and a copy its bytes; tracks have names") {
  const Json document = written(two_repeats().trace);
  std::vector<std::string> names;
  for (const Json& event : document.at("traceEvents")) {
    if (event.at("ph") == "M") names.push_back(event.at("args").at("name"));
    if (event.at("name") == "panel \"<8>\"" && event.at("dur") == 10.001) {
      CHECK(event.at("args").at("grid") == Json({640, 1, 1}));
      CHECK(event.at("args").at("registers") == 64);
    }
    if (event.at("name") == "copy") CHECK(event.at("args").at("bytes") == 4096);
  }
  for (const char* name : {"kbench", "repeats", "GPU 0", "stream 7", "stream 7 (2)", "stream 9"}) {
    CAPTURE(name);
    CHECK(std::count(names.begin(), names.end(), name) == 1);
  }
}

}  // namespace
}  // namespace kbench
