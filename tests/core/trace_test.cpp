// Figures from made-up records: sums, unions, attribution, and every way in which records are
// unsound.
#include "core/trace.h"

#include "catch.h"
#include "expect_error.h"
#include "trace_records.h"

namespace kbench {
namespace {

using test::Records;

TEST_CASE("the union of intervals counts what overlaps once, in any order") {
  struct Row {
    std::vector<std::array<std::int64_t, 2>> intervals;
    std::int64_t length;
  };
  const std::vector<Row> rows = {
      {{}, 0},
      {{{0, 10}}, 10},
      {{{0, 10}, {20, 30}}, 20},
      {{{20, 30}, {0, 10}}, 20},
      {{{0, 10}, {5, 15}}, 15},
      {{{0, 100}, {10, 20}, {30, 40}}, 100},
      {{{0, 10}, {10, 20}}, 20},
      {{{5, 5}}, 0},
  };
  for (const Row& row : rows) CHECK(union_length(row.intervals) == row.length);
}

TEST_CASE("span, busy and gap of a repeat come from all its streams") {
  Records records;
  records.repeat(1, true, 60000);
  records.add("a", 10000, 20000);
  records.add("b", 15000, 25000, 8);
  records.add("a", 40000, 45000);
  records.add("copy", 46000, 48000, 7, ActivityKind::memcpy);
  records.add("set", 48000, 48000, 7, ActivityKind::memset);
  const TraceFigures figures = summarize_trace(records.trace);
  REQUIRE(figures.repeats.size() == 1);
  const RepeatFigures& repeat = figures.repeats.front();
  CHECK(repeat.event_ns == 60000);
  CHECK(repeat.span_ns == 38000);
  CHECK(repeat.busy_ns == 22000);
  CHECK(repeat.gap_ns == 16000);
  CHECK(repeat.kernels == 3);
  CHECK(repeat.memcpys == 1);
  CHECK(repeat.memsets == 1);
  CHECK(figures.warnings.empty());
}

TEST_CASE("a kernel's figures are per call, over the active repeats alone") {
  Records records;
  records.trace.calls_per_repeat = 2;
  records.repeat(0, false).add("a", 0, 90000);  // a warm-up
  records.repeat(1).add("a", 1000, 3000);
  records.add("a", 5000, 7000);
  records.add("b", 7000, 8000);
  records.repeat(2).add("a", 1000, 3000);
  records.add("a", 5000, 13000);
  records.add("b", 13000, 14000);
  const TraceFigures figures = summarize_trace(records.trace);
  REQUIRE(figures.kernels.size() == 2);
  const KernelFigures& a = figures.kernels.front();
  CHECK(a.name == "a");
  CHECK(a.launches == 4);
  CHECK(a.total_ns == 14000);
  CHECK(a.mean_ns == 3500);  // 2000 and 5000 per call
  CHECK(a.median_ns == 3500);
  CHECK(a.min_ns == 2000);
  CHECK(a.max_ns == 5000);
  CHECK(a.share == 14000.0 / (7000 + 13000));
  CHECK(figures.kernels.back().name == "b");
}

TEST_CASE("the flush, kbench's own work and other repeats' kernels are not the call's") {
  Records records;
  records.repeat(1);
  records.add("flush", 100, 900).tag = k_flush_tag;
  records.add("poison", 90000, 91000).tag = k_own_tag;
  records.add("a", 1000, 2000);
  records.repeat(2).add("a", 1000, 4000);
  records.trace.activities.push_back(records.trace.activities.back());
  records.trace.activities.back().tag = k_own_tag;
  const TraceFigures figures = summarize_trace(records.trace);
  CHECK(figures.repeats[0].span_ns == 1000);
  CHECK(figures.repeats[1].span_ns == 3000);
  REQUIRE(figures.kernels.size() == 1);
  CHECK(figures.kernels.front().launches == 2);
}

TEST_CASE("what names no call, or came by a graph, is placed by its time and said so") {
  Records records;
  records.repeat(1);
  records.add("a", 1000, 2000);
  records.add("thread's own", 2000, 3000).tag = k_untagged;
  Activity& graph = records.add("node", 3000, 4000);
  graph.in_graph = true;
  graph.tag = k_flush_tag;  // as releases with wrong correlation do
  Activity& outside = records.add("outside", 0, 1);
  outside.begin_ns -= 500000;
  outside.end_ns -= 400000;
  outside.tag = k_untagged;
  const TraceFigures figures = summarize_trace(records.trace);
  CHECK(figures.repeats.front().kernels == 3);
  REQUIRE(figures.warnings.size() == 1);
  CHECK(figures.warnings.front().find("2 records name no call") == 0);
}

TEST_CASE("unsound records make an invalid result in words, never a zero") {
  struct Row {
    const char* what;
    void (*spoil)(Trace&);
    std::string message;
  };
  const std::vector<Row> rows = {
      {"dropped", [](Trace& t) { t.dropped = 3; },
       "invalid trace (CUPTI dropped 3 records); take fewer repeats with `--repeat N` or a smaller "
       "case"},
      {"no begin", [](Trace& t) { t.activities[0].begin_ns = 0; },
       "invalid trace (1 of 2 records have no valid time stamps); run again; if it stays so, this "
       "CUPTI cannot trace this kernel"},
      {"no end", [](Trace& t) { t.activities[1].end_ns = t.activities[1].begin_ns; },
       "invalid trace (1 of 2 records have no valid time stamps); run again; if it stays so, this "
       "CUPTI cannot trace this kernel"},
      {"no record", [](Trace& t) { t.activities.pop_back(); },
       "invalid trace (no record of repeat 2); a custom_kernel that launches nothing cannot be "
       "traced"},
      {"no active repeat", [](Trace& t) { t.repeats[0].active = t.repeats[1].active = false; },
       "invalid trace (no active repeat); run again"},
      {"moved", [](Trace& t) { t.activities[1].tag = t.repeats[0].tag; },
       "invalid trace (`a` was launched in a repeat in whose time it did not run); run again; a "
       "clock that was set in between does this"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    Records records;
    records.repeat(1).add("a", 1000, 2000);
    records.repeat(2).add("a", 1000, 2000);
    REQUIRE_NOTHROW(summarize_trace(records.trace));
    row.spoil(records.trace);
    try {
      summarize_trace(records.trace);
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      CHECK(error.what() == row.message);
      CHECK(error.code() == ExitCode::case_failed);
    }
  }
}

TEST_CASE("launches that vary and work outside of the events are warned of") {
  Records records;
  records.repeat(1).add("a", 1000, 2000);
  records.repeat(2, true, 500).add("a", 1000, 2000);
  records.add("a", 2000, 3000);
  const TraceFigures figures = summarize_trace(records.trace);
  REQUIRE(figures.warnings.size() == 2);
  CHECK(figures.warnings[0] == "the number of launches varies from repeat to repeat (1 to 2)");
  CHECK(figures.warnings[1] ==
        "the event time is below the span in 1 of 2 repeats: work ran outside of the events, on "
        "another stream");
}

TEST_CASE("the idle time of one repeat is per call") {
  Records records;
  records.trace.calls_per_repeat = 2;
  records.repeat(1, true, 50000);
  records.add("a", 1000, 11000);
  records.add("a", 21000, 31000);
  const IdleTime idle = idle_time(records.trace);
  CHECK(idle.event_ns == 25000);
  CHECK(idle.busy_ns == 10000);
}

}  // namespace
}  // namespace kbench
