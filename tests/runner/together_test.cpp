// Who starts when, with lanes that answer from a script, and what is made of it: no process.
#include "runner/together.h"

#include <algorithm>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.h"
#include "runner/together_figures.h"

using namespace kbench;
using Kind = Failure::Kind;

namespace {

/// A worker that makes repeats for as long as it is told to, and can fail at one of the waits.
class PacedLane : public Lane {
 public:
  bool is_uneven = false;       ///< every second repeat takes nine times as long
  bool has_no_clock = false;    ///< every repeat takes 0 ns
  std::map<int, News> instead;  ///< of the n-th news about a job, from 0
  std::vector<std::int64_t> moments;
  int jobs = 0, set_ups = 0, turns_refused = 0;

  void ask(Setup) override {
    ++set_ups;
    open_ = Hello{};
    worker_ = true;
  }
  void ask(Job) override {
    ++jobs;
    reply_ = Reply{};
    reply_.passed = true;
    prepared_ = false;
    say(Ready{"", 0, false});
  }
  void answer(Turn turn) override {
    if (!turn.more) {
      ++turns_refused;
      return say(reply_);
    }
    prepared_ = !prepared_;
    if (prepared_) return say(Ready{"", 0, true});
    moments.push_back(turn.start_ns);
    const double tick_ns = has_no_clock ? 0 : 1000;
    const double sample_ns = is_uneven && reply_.samples_ns.size() % 2 == 1 ? 9000 : tick_ns;
    reply_.samples_ns.push_back(sample_ns);
    reply_.starts.push_back({turn.start_ns, turn.start_ns});
    say(Ready{"", sample_ns, false});
  }
  std::optional<News> news() override { return std::exchange(open_, std::nullopt); }
  void add_waits(Waits& waits) const override { waits.add(Watch::Clock::now()); }
  bool has_worker() const override { return worker_; }
  void finish() override {}
  void end() override { worker_ = false; }

 private:
  void say(News news) {
    const auto other = instead.find(said_++);
    open_ = other == instead.end() ? std::move(news) : other->second;
    if (std::holds_alternative<Failure>(*open_)) worker_ = false;
  }
  std::optional<News> open_;
  Reply reply_;
  int said_ = 0;
  bool prepared_ = false, worker_ = false;
};

class TogetherNotes : public TogetherRules {
 public:
  std::int64_t exact = 3;
  StopLimits stop_limits{100, 1e9};
  std::vector<std::string> outcomes;
  std::vector<LaneOutcome> last;
  StopReason stop = StopReason::none;

  std::optional<std::string> why_not_run(std::size_t) override { return std::nullopt; }
  bool fits(std::size_t, std::size_t) override { return true; }
  Setup make_setup(std::size_t, std::size_t) override { return {}; }
  std::optional<std::string> accept(std::size_t, std::size_t, Hello hello) override {
    return hello.error.empty() ? std::nullopt : std::optional(hello.error);
  }
  Job make_job(std::size_t, std::size_t) override { return {}; }
  void take_reply(std::size_t, std::size_t, Reply) override {}
  void fail(std::optional<std::size_t>, std::size_t, const Failure& failure) override {
    outcomes.push_back(failure.words);
  }
  void lose(std::size_t, const std::string&) override {}
  void deal_again(std::size_t, const std::string&) override {}
  void report() override {}
  void take_all(std::size_t, std::vector<LaneOutcome> all, StopReason reason) override {
    const auto bad = find_bad(all);
    outcomes.push_back(bad ? std::to_string(bad->seat) + ": " + bad->failure.words : "pass");
    last = std::move(all);
    stop = reason;
  }
  StopLimits limits() const override { return stop_limits; }
  std::int64_t exact_repeats() const override { return exact; }
};

struct Stage {
  explicit Stage(std::size_t count) : lanes(count) {}
  std::deque<PacedLane> lanes;
  TogetherNotes notes;

  std::vector<std::string> run(std::size_t cases) {
    Watch watch(Watch::Clock::now());
    std::vector<Lane*> pointers;
    for (PacedLane& lane : lanes) pointers.push_back(&lane);
    Together(pointers, notes, watch, cases).run();
    return notes.outcomes;
  }
};

using Strings = std::vector<std::string>;

TogetherFigures::Lane lane_with(std::vector<double> samples, std::vector<StartBracket> starts,
                                double uncertainty_ns = 0) {
  TogetherFigures::Lane lane;
  lane.reply.samples_ns = std::move(samples);
  lane.reply.starts = std::move(starts);
  lane.clock_uncertainty_ns = uncertainty_ns;
  return lane;
}

}  // namespace

TEST_CASE("all lanes are told the same moment for every repeat of every case") {
  Stage stage(3);
  CHECK(stage.run(2) == Strings{"pass", "pass"});
  CHECK(stage.lanes[0].moments.size() == 6);
  for (const PacedLane& lane : stage.lanes) {
    CHECK(lane.moments == stage.lanes[0].moments);
    CHECK(std::is_sorted(lane.moments.begin(), lane.moments.end()));
    CHECK(lane.jobs == 2);
    CHECK(lane.set_ups == 1);
  }
  CHECK(stage.notes.stop == StopReason::repeats);
}

TEST_CASE("the count of the stop rule ends the repeats of all") {
  Stage stage(2);
  stage.notes.exact = 0;
  stage.notes.stop_limits = {4, 1e18};
  CHECK(stage.run(1) == Strings{"pass"});
  CHECK(stage.lanes[0].moments.size() == 4);
  CHECK(stage.notes.stop == StopReason::repeats);
}

TEST_CASE("samples that are no times do not make repeats without end") {
  Stage stage(2);
  for (PacedLane& lane : stage.lanes) lane.has_no_clock = true;
  CHECK(stage.run(1) == Strings{"pass"});
  CHECK(stage.lanes[0].moments.size() == 3);
}

TEST_CASE("the slowest lane of each repeat decides when the time is known well enough") {
  Stage stage(2);
  stage.notes.exact = 0;
  stage.notes.stop_limits = {std::int64_t{1} << 40, 1};
  stage.lanes[1].is_uneven = true;
  CHECK(stage.run(1) == Strings{"pass"});
  // The first lane alone would be precise.
  CHECK(stage.notes.stop == StopReason::budget);
}

TEST_CASE("a lane that fails at any wait releases the others, and the next case is run by all") {
  // 0: before the first repeat; 1: prepared; 2: after it; 3: prepared again.
  for (int when : {0, 1, 2, 3}) {
    Stage stage(3);
    stage.lanes[1].instead.emplace(when, Failure{Kind::death, "killed"});
    CHECK(stage.run(2) == Strings{"1: killed", "pass"});
    CHECK(stage.lanes[0].turns_refused == 2);
    CHECK(stage.lanes[1].set_ups == 2);
    CHECK(stage.lanes[2].set_ups == 1);
  }
}

TEST_CASE("a worker that ends its case early is told apart from one that was interrupted") {
  Reply wrong;
  wrong.error = "factor: matrix 3";
  Stage stage(2);
  stage.lanes[0].instead.emplace(2, Failure{Kind::stopped, "stopped (interrupted)"});
  stage.lanes[1].instead.emplace(2, wrong);
  CHECK(stage.run(1) == Strings{"1: factor: matrix 3"});
}

TEST_CASE("without one lane no further case is run") {
  Stage stage(2);
  stage.lanes[1].instead.emplace(1, Failure{Kind::lost, "rank 1 is gone"});
  const std::string rest = "not run (rank 1 is gone; `--together` needs all)";
  CHECK(stage.run(3) == Strings{"1: rank 1 is gone", rest, rest});
  CHECK(stage.lanes[0].jobs == 1);
}

TEST_CASE("figures over workers are taken repeat by repeat") {
  const TogetherFigures figures =
      figures_of({lane_with({100, 300}, {{1000, 1000}, {5000, 5000}}),
                  lane_with({200, 100}, {{1400, 1600}, {4000, 4200}}, 50),
                  lane_with({600, 200}, {{1200, 1200}, {4500, 4500}})});
  CHECK(figures.slowest_ns == std::vector<double>{600, 300});
  CHECK(figures.fastest_ns == std::vector<double>{100, 100});
  CHECK(figures.mean_ns == std::vector<double>{300, 200});
  CHECK(figures.skew_ns == std::vector<double>{500, 900});
  // Half a bracket of 200 ns and the 50 ns of the second worker's clock.
  CHECK(figures.skew_uncertainty_ns == std::vector<double>{150, 150});
}

TEST_CASE("stamps far from zero keep their nanoseconds") {
  constexpr std::int64_t k_far = std::int64_t{1} << 60;
  const TogetherFigures figures =
      figures_of({lane_with({1}, {{k_far, k_far}}), lane_with({1}, {{k_far + 7, k_far + 7}})});
  CHECK(figures.skew_ns == std::vector<double>{7});
}

TEST_CASE("workers that made different numbers of repeats have no figures") {
  const std::vector<StartBracket> two(2);
  CHECK_THROWS_AS(figures_of({lane_with({1, 2}, two), lane_with({1}, two)}), std::runtime_error);
  CHECK_THROWS_AS(figures_of({lane_with({1, 2}, two), lane_with({1, 2}, {{}})}),
                  std::runtime_error);
}
