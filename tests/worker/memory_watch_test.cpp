// Memory that is left behind call by call, and memory that only looks like that.
#include "worker/memory_watch.h"

#include <cmath>
#include <vector>

#include "bench.h"
#include "catch.h"

using namespace kbench;
using namespace kbench::test;

namespace {

constexpr std::int64_t k_kib = 1024;

struct Row {
  const char* what;
  std::vector<std::int64_t> used_kib;  ///< after 10, 20, 40, 80, ... calls
  double leaked_kib;
};

const std::vector<Row> k_rows = {
    {"steady", {500, 500, 500, 500}, 0},
    {"64 KiB a call", {640, 1280, 2560, 5120}, 64},
    {"in blocks of 2 MiB", {2048, 2048, 4096, 6144}, 4096.0 / 70},
    {"taken once", {500, 9000, 9000, 9000}, 0},
    {"taken once, late", {500, 500, 500, 9000}, 0},
    {"growing, then at rest", {500, 900, 1700, 1700, 1700, 1700}, 0},
    {"given back in between", {500, 900, 300, 900}, 0},
    {"too little to be told", {500, 539, 617, 773}, 0},
    {"too little in few calls", {500, 520, 560}, 0},
    {"enough in few calls", {500, 540, 640}, 140.0 / 30},
};

}  // namespace

TEST_CASE("only memory that grows in both halves of the calls is a leak") {
  for (const Row& row : k_rows) {
    MemoryWatch watch;
    std::int64_t calls = 10;
    for (const std::int64_t used : row.used_kib) {
      watch.add(calls, used * k_kib);
      calls *= 2;
    }
    INFO(row.what);
    const auto leaked = watch.leaked_bytes_per_call();
    REQUIRE(leaked);
    CHECK(std::abs(*leaked - row.leaked_kib * k_kib) < 1e-6);
  }
}

TEST_CASE("what grows by less than 64 KiB in all is no leak, however few the calls") {
  MemoryWatch watch;
  for (const std::int64_t calls : {1, 2, 4}) watch.add(calls, calls * 21 * k_kib);
  CHECK(watch.leaked_bytes_per_call() == 0.0);
  watch.add(8, 8 * 21 * k_kib);
  CHECK(watch.leaked_bytes_per_call() == 21.0 * k_kib);
}

TEST_CASE("two readings say nothing, and a second one without calls between is none") {
  MemoryWatch watch;
  watch.add(10, 0);
  watch.add(20, 1 << 20);
  watch.add(20, 1 << 30);
  CHECK_FALSE(watch.leaked_bytes_per_call());
}

TEST_CASE("few repeats of a long run are read") {
  std::int64_t readings = 0;
  for (std::int64_t repeat = 1; repeat <= 1000; ++repeat) readings += MemoryWatch::wants(repeat);
  CHECK(readings == 10);
}

TEST_CASE("a case that loses memory in each call passes and says how much") {
  constexpr std::int64_t k_lost = 64 * k_kib;
  Bench bench;
  bench.job.exact_repeats = 9;
  bench.device.at_drain = [&bench] { bench.device.lost += 2 * k_lost; };
  bench.run();
  CHECK(bench.error.empty());
  REQUIRE(bench.reply.leaked_bytes_per_call);
  CHECK(*bench.reply.leaked_bytes_per_call == k_lost);
}

TEST_CASE("kbench's own arrays are no leak") {
  Bench bench;
  bench.job.exact_repeats = 9;
  bench.run();
  REQUIRE(bench.reply.leaked_bytes_per_call);
  CHECK(*bench.reply.leaked_bytes_per_call == 0);
}
