// Who gets which case, with lanes that answer from a script: no process, no clock.
#include "runner/dealer.h"

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "catch.h"

using namespace kbench;
using Kind = Failure::Kind;

namespace {

Hello good_hello() { return Hello{}; }
Hello bad_hello(ExitCode code, const std::string& words) {
  Hello hello;
  hello.code = code;
  hello.error = words;
  return hello;
}
Reply passing() {
  Reply reply;
  reply.passed = true;
  return reply;
}
Reply sticky() {
  Reply reply;
  reply.error = "sticky";
  reply.worker_unusable = true;
  return reply;
}

/// Answers set-ups and jobs from two lists, then with success.
class ScriptedLane : public Lane {
 public:
  std::deque<News> hellos, replies;
  int set_ups = 0;
  int slowness = 0;  ///< so many times news() has none of a job

  void ask(Setup) override {
    ++set_ups;
    open_ = take(hellos, good_hello());
    works_ = false;
    worker_ = !std::holds_alternative<Failure>(*open_);
  }
  void ask(Job) override {
    open_ = take(replies, passing());
    works_ = true;
    if (std::holds_alternative<Failure>(*open_)) worker_ = false;
  }
  void answer(Turn) override {}
  std::optional<News> news() override {
    if (works_ && slowness-- > 0) return std::nullopt;
    return std::exchange(open_, std::nullopt);
  }
  void add_waits(Waits& waits) const override { waits.add(Watch::Clock::now()); }
  bool has_worker() const override { return worker_; }
  void finish() override {}
  void end() override { worker_ = false; }

 private:
  static News take(std::deque<News>& list, News otherwise) {
    if (list.empty()) return otherwise;
    News first = std::move(list.front());
    list.pop_front();
    return first;
  }
  std::optional<News> open_;
  bool worker_ = false, works_ = false;
};

/// Notes every outcome as one word a case: `pass@0`, `sticky@1`, `words`.
class Notes : public Rules {
 public:
  std::map<std::size_t, std::string> outcomes;
  std::vector<std::string> lost, again;

  std::optional<std::string> why_not_run(std::size_t) override { return std::nullopt; }
  bool fits(std::size_t, std::size_t) override { return true; }
  Setup make_setup(std::size_t, std::size_t) override { return {}; }
  std::optional<std::string> accept(std::size_t, std::size_t, Hello hello) override {
    return hello.error.empty() ? std::nullopt : std::optional(hello.error);
  }
  Job make_job(std::size_t, std::size_t) override { return {}; }
  void take_reply(std::size_t seat, std::size_t i, Reply reply) override {
    note(i, (reply.passed ? "pass" : reply.error) + "@" + std::to_string(seat));
  }
  void fail(std::optional<std::size_t>, std::size_t i, const Failure& failure) override {
    note(i, failure.words);
  }
  void lose(std::size_t seat, const std::string& why) override {
    lost.push_back(std::to_string(seat) + ": " + why);
  }
  void deal_again(std::size_t i, const std::string& why) override {
    again.push_back(std::to_string(i) + ": " + why);
  }
  void report() override {}

 private:
  void note(std::size_t i, const std::string& outcome) {
    CHECK(outcomes.count(i) == 0);  // every case ends once
    outcomes[i] = outcome;
  }
};

using Strings = std::vector<std::string>;

struct Table {
  explicit Table(std::size_t lane_count) : lanes(lane_count) {}
  std::deque<ScriptedLane> lanes;
  Notes notes;

  Strings run(std::size_t count) {
    Watch watch(Watch::Clock::now());
    std::vector<Lane*> pointers;
    for (ScriptedLane& lane : lanes) pointers.push_back(&lane);
    Dealer dealer(pointers, notes, watch, count);
    dealer.greet_all(0, std::nullopt);
    dealer.run();
    Strings outcomes;
    for (std::size_t i = 0; i < count; ++i) outcomes.push_back(notes.outcomes[i]);
    return outcomes;
  }
};

}  // namespace

TEST_CASE("one lane gets all cases in order with one worker") {
  Table table(1);
  CHECK(table.run(3) == Strings{"pass@0", "pass@0", "pass@0"});
  CHECK(table.lanes[0].set_ups == 1);
}

TEST_CASE("a free lane gets the next case") {
  Table table(2);
  table.lanes[0].slowness = 4;
  const Strings outcomes = table.run(4);
  CHECK(outcomes[0] == "pass@0");
  CHECK(outcomes[1] == "pass@1");
  CHECK(outcomes[2] == "pass@1");
}

TEST_CASE("a case that fails while its device still works has failed, and is not run again") {
  for (const Lane::News& bad : {Lane::News(sticky()), Lane::News(Failure{Kind::death, "sticky@1"}),
                                Lane::News(Failure{Kind::hang, "sticky@1"})}) {
    Table table(2);
    table.lanes[1].replies = {bad};
    const Strings outcomes = table.run(2);
    CHECK(outcomes == Strings{"pass@0", "sticky@1"});
    CHECK(table.lanes[1].set_ups == 2);
    CHECK(table.notes.lost.empty());
    CHECK(table.notes.again.empty());
  }
}

TEST_CASE("a device that cannot be opened any more loses its case to another one") {
  Table table(2);
  table.lanes[1].replies = {sticky()};
  table.lanes[1].hellos = {good_hello(), bad_hello(ExitCode::device, "gone")};
  CHECK(table.run(4) == Strings{"pass@0", "pass@0", "pass@0", "pass@0"});
  CHECK(table.notes.lost == Strings{"1: gone"});
  CHECK(table.notes.again == Strings{"1: gone"});
}

TEST_CASE("a kernel that cannot be loaded costs the case and not the lane") {
  Table table(2);
  table.lanes[1].hellos = {bad_hello(ExitCode::case_failed, "no such symbol")};
  CHECK(table.run(3) == Strings{"pass@0", "no such symbol", "pass@1"});
  CHECK(table.notes.lost.empty());
}

TEST_CASE("a lost lane is left out, and its case is given away once") {
  Table table(3);
  table.lanes[1].replies = {Failure{Kind::lost, "rank 1 is gone"}};
  // Whoever gets case 1 next is lost too.
  table.lanes[0].replies = {passing(), Failure{Kind::lost, "rank 0 is gone"}};
  table.lanes[2].slowness = 8;
  const Strings outcomes = table.run(4);
  CHECK(outcomes[1] == "rank 0 is gone");
  CHECK(outcomes[3] == "pass@2");
  CHECK(table.notes.lost == Strings{"1: rank 1 is gone", "0: rank 0 is gone"});
  CHECK(table.notes.again == Strings{"1: rank 1 is gone"});
}

TEST_CASE("without any lane the rest fails in words") {
  Table table(1);
  table.lanes[0].replies = {passing(), Failure{Kind::lost, "rank 0 is gone"}};
  CHECK(table.run(4) == Strings{"pass@0", "rank 0 is gone",
                                "not run (no device is left: rank 0 is gone)",
                                "not run (no device is left: rank 0 is gone)"});
}

TEST_CASE("the last lane is kept although its set-ups fail") {
  Table table(2);
  table.lanes[0].replies = {Failure{Kind::lost, "gone"}};
  table.lanes[1].replies = {Failure{Kind::death, "killed"}};
  table.lanes[1].hellos = {good_hello(), bad_hello(ExitCode::device, "busy")};
  const Strings outcomes = table.run(4);
  CHECK(table.notes.lost == Strings{"0: gone"});
  CHECK(outcomes[3] == "pass@1");
}
