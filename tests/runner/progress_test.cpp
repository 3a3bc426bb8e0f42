// The progress line: what it says, when it is drawn and, above all, when it is not.
#include "runner/progress.h"

#include "catch.h"
#include "core/stats.h"
#include "kbench_process.h"

using namespace kbench;

namespace {

/// A reporter with a clock of its own and what it has put since the last look.
struct Screen {
  explicit Screen(ProgressForm form)
      : reporter(ProgressLine(
            form, 60, [this](const std::string& text) { put += text; }, [this] { return now; })) {
    record.mode = find_mode("benchmark");
    record.cases.resize(2);
    record.cases[0].spec.spec = "batch: 64; n: 32; cond: 1; seed: 1";
  }
  /// `what`: the plug-in's function that runs now; null: kbench's own code.
  void event(const std::string& phase, std::int64_t repeat, const char* what, double mean_ns = 0) {
    Event event;
    event.phase = phase;
    event.repeat = repeat;
    event.limit_s = 60;
    if (what != nullptr) event.what = what;
    event.mean_ns = mean_ns;
    event.err_ns = mean_ns / 1000;
    reporter.progressed(record, 0, event);
  }
  /// What has been put since the last call.
  std::string look() { return std::exchange(put, ""); }

  RunRecord record;
  ProgressLine::Clock::time_point now{};
  std::string put;
  ProgressReporter reporter;
};

}  // namespace

TEST_CASE("the progress line has case, phase, figures and the time left") {
  ProgressState state;
  state.number = 3;
  state.cases = 12;
  state.spec = "batch: 64; n: 32";
  CHECK(progress_text(state, 0) == "3/12  batch: 64; n: 32");
  state.phase = "warm-up";
  state.step = 7;
  CHECK(progress_text(state, 0) == "3/12  batch: 64; n: 32 | warm-up 7");
  state.repeat = 57;
  state.mean_ns = 2748;
  state.err_ns = 4;
  CHECK(progress_text(state, 0) == "3/12  batch: 64; n: 32 | repeat 57 | 2.748 us ± 0.004 us");
  state.left_s = 12.2;
  CHECK_THAT(progress_text(state, 0), ContainsSubstring(" | 12 s left"));
  state.left_s = 125;
  CHECK_THAT(progress_text(state, 0), ContainsSubstring(" | 2:05 min left"));
}

TEST_CASE("a long case line is cut and the figures stay") {
  ProgressState state;
  state.spec = std::string(500, 'x');
  state.repeat = 5;
  state.phase = "repeat";
  state.mean_ns = 2748;
  state.left_s = 3;
  const std::string text = progress_text(state, 70);
  CHECK(width_of(text) == 69);
  CHECK_THAT(text, ContainsSubstring("x... | repeat 5 | 2.748 us"));
  CHECK_THAT(progress_text(state, 20), ContainsSubstring("3 s left"));
}

TEST_CASE("nothing is drawn from the event before a timed repeat to its check") {
  for (const std::string phase : {"repeat", "audit"}) {
    for (const ProgressForm form : {ProgressForm::line, ProgressForm::lines}) {
      Screen screen(form);
      screen.reporter.case_begins(screen.record, 0);
      screen.look();
      screen.now += std::chrono::minutes(1);
      screen.event(phase, 1, "custom_kernel");  // the clock runs from here on
      CHECK(screen.look().empty());
      screen.now += std::chrono::minutes(1);
      screen.event("check", 1, nullptr);
      CHECK_FALSE(screen.look().empty());
      screen.now += std::chrono::minutes(1);
      screen.event(phase, 1, nullptr, 2748);  // the next one is near
      CHECK(screen.look().empty());
    }
  }
}

TEST_CASE("on a terminal one line is drawn anew, at most ten times a second, and taken away") {
  Screen screen(ProgressForm::line);
  screen.reporter.starting(2);
  CHECK(screen.look() == "\r\x1b[K2 cases: kernel and device are being prepared");
  screen.reporter.begin(screen.record);
  CHECK(screen.look() == "\r\x1b[K");
  screen.reporter.case_begins(screen.record, 0);
  CHECK(screen.look() == "\r\x1b[K1/2  batch: 64; n: 32; cond: 1; seed: 1");
  screen.event("warm-up", 1, "custom_kernel");
  CHECK(screen.look().empty());
  screen.now += std::chrono::milliseconds(100);
  screen.event("warm-up", 2, "custom_kernel");
  CHECK(screen.look() == "\r\x1b[K1/2  batch: 64; n: 32; cond: 1; seed: 1 | warm-up 2");
  screen.reporter.case_ended(screen.record, 0);
  CHECK(screen.look() == "\r\x1b[K");
  screen.reporter.end(screen.record);
  CHECK(screen.look().empty());
}

TEST_CASE("elsewhere whole lines come at the start and every ten seconds") {
  Screen screen(ProgressForm::lines);
  screen.reporter.starting(1);
  CHECK(screen.look() == "1 case: kernel and device are being prepared\n");
  screen.now += std::chrono::seconds(9);
  screen.reporter.case_begins(screen.record, 0);
  CHECK(screen.look().empty());
  screen.event("repeat", 1, "custom_kernel");
  screen.now += std::chrono::seconds(2);
  screen.event("repeat", 1, nullptr, 1e9);
  screen.event("check", 1, nullptr);
  CHECK(screen.look() ==
        "1/2  batch: 64; n: 32; cond: 1; seed: 1 | repeat 1 | 1 s ± 0.001 s | 4 s left\n");
  screen.reporter.case_ended(screen.record, 0);
  screen.reporter.end(screen.record);
  CHECK(screen.look().empty());
}

TEST_CASE("the time left follows from the reason that will stop the repeats first") {
  struct Row {
    StopLimits limits;
    double mean, err, wall_s, expected;
  };
  // After ten repeats each.
  for (const Row& row : {Row{{200, 1e10}, 1000, 2, 1, 40},       // the error must halve
                         Row{{200, 1e4}, 500, 50, 1, 20},        // the budget
                         Row{{20, 1e10}, 1000, 100, 1, 20},      // the number of repeats
                         Row{{200, 1e30}, 1e9, 1e8, 20, 60},     // 120 s of wall time
                         Row{{200, 1e10}, 1000, 0, 0.01, 100}})  // 0.1 s at least
  {
    CAPTURE(row.mean, row.err, row.wall_s);
    CHECK(std::abs(expected_repeats(row.limits, 10, row.mean, row.err, row.wall_s) - row.expected) <
          1e-9);
  }
}

TEST_CASE("progress goes to stderr, and is left out when it is not wanted or a program reads") {
  const Tree tree;
  const std::string file = tree.write("f.txt", "batch: 2; n: 4; cond: 1; seed: 5\n");
  const std::vector<std::string> arguments = {"test", file, "--problem", "qr_v2"};
  CHECK_THAT(kbench_run(tree, arguments).err,
             StartsWith("1 case: kernel and device are being prepared\n"));
  std::vector<std::string> quiet = arguments;
  quiet.push_back("--quiet");
  CHECK(kbench_run(tree, quiet).err.empty());
  CHECK(kbench_run(tree, arguments, {{"KBENCH_QUIET", "on"}}).err.empty());
  CHECK(popcorn_run(tree, arguments).err.find("prepared") == std::string::npos);
}
