// What the worker finds out about the circumstances of a measurement, and when it asks.
#include <string>
#include <vector>

#include "bench.h"
#include "catch.h"

using namespace kbench;
using namespace kbench::test;

TEST_CASE("clocks are read next to the timed repeats and at no other time") {
  Bench bench;
  bench.device.clock = ClockState{1980, 40, 300.0, 0};
  bench.job.exact_repeats = 3;
  bench.run();
  REQUIRE(bench.error.empty());
  CHECK(bench.count("clocks") == 2);
  const Diary between = bench.between("clocks", "destroy");
  const auto second = std::find(between.begin() + 1, between.end(), "clocks");
  CHECK(std::count(between.begin(), second, "event repeat") == 6);  // before and after each
  CHECK(std::count(second, between.end(), "event repeat") == 0);
  CHECK(bench.reply.clocks.before->sm_mhz == 1980);
  CHECK(bench.reply.clocks.after->temperature_c == 40);
}
