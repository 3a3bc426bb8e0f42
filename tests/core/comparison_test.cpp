// Paired comparison: order, intervals, verdicts, the stop rule; and that a kernel against itself is
// no winner, whatever the clock's noise looks like.
#include "core/comparison.h"

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include "catch.h"

using namespace kbench;

namespace {

/// Time of one arm at a moment (counted in turns) of a scripted clock.
using Clock = std::function<double(std::mt19937_64& random, std::int64_t moment)>;

double normal(std::mt19937_64& random) { return std::normal_distribution<double>()(random); }

struct Played {
  Ratio ratio;
  RatioVerdict verdict;
  std::int64_t rounds = 0;
};

/// Two arms with one clock; the second is `factor` times slower.
Played play(const Clock& clock, double factor, std::uint64_t seed, std::int64_t exact = 0) {
  std::mt19937_64 random(seed);
  constexpr double k_same = 0.01;
  const double level = level_of_each(1);
  RoundRule rule(1, level, k_same, exact);
  std::int64_t moment = 0;
  for (std::int64_t round = 0;; ++round) {
    double times[2] = {};
    for (const std::size_t arm : order_of_round(round, 2)) {
      times[arm] = clock(random, moment++) * (arm == 1 ? factor : 1);
    }
    const double log_ratio = std::log(times[1] / times[0]);
    if (rule.add({&log_ratio, 1}, 0) != StopReason::none) break;
  }
  Played played;
  played.rounds = static_cast<std::int64_t>(rule.log_ratios(0).size());
  played.ratio = ratio_of_pairs(rule.log_ratios(0), level);
  played.verdict = judge_ratio(played.ratio, k_same);
  return played;
}

struct NamedClock {
  std::string name;
  Clock clock;
};

const std::vector<NamedClock>& clocks() {
  static const std::vector<NamedClock> k_clocks = {
      {"steady", [](auto& random, auto) { return 100 * std::exp(0.001 * normal(random)); }},
      {"noisy", [](auto& random, auto) { return 100 * std::exp(0.2 * normal(random)); }},
      {"drifting",
       [](auto& random, auto moment) {
         return (100 + static_cast<double>(moment)) * std::exp(0.01 * normal(random));
       }},
      {"cooling",
       [](auto& random, auto moment) {
         return 100 * (1 + std::exp(-0.1 * static_cast<double>(moment))) *
                std::exp(0.02 * normal(random));
       }},
      {"two states",
       [](auto& random, auto) { return random() % 2 == 0 ? 100 : 130 + normal(random); }},
      {"heavy tails", [](auto& random, auto) { return 100 + 5 * std::exp(2 * normal(random)); }},
      {"coarse", [](auto& random, auto) { return 32 * std::round(10 + 0.4 * normal(random)); }},
  };
  return k_clocks;
}

}  // namespace

TEST_CASE("a kernel against itself is neither faster nor slower in 95 of 100 runs of any clock") {
  for (const NamedClock& named : clocks()) {
    for (const std::int64_t exact : {0, 12, 50}) {
      int decided = 0;
      for (std::uint64_t run = 0; run < 100; ++run) {
        const RatioVerdict verdict = play(named.clock, 1, run, exact).verdict;
        if (verdict == RatioVerdict::faster || verdict == RatioVerdict::slower) ++decided;
      }
      INFO(named.name << ", " << exact << " rounds");
      CHECK(decided <= 5);
    }
  }
}

TEST_CASE("a difference that is there is found, and its interval holds it") {
  for (const double factor : {0.5, 0.9, 1.25}) {
    for (const NamedClock& named : clocks()) {
      if (named.name == "noisy" || named.name == "heavy tails" || named.name == "two states") {
        continue;  // a tenth is within their noise
      }
      const Played played = play(named.clock, factor, 7);
      INFO(named.name << ", factor " << factor);
      CHECK(played.verdict == (factor < 1 ? RatioVerdict::faster : RatioVerdict::slower));
      REQUIRE(played.ratio.interval);
      CHECK(played.ratio.interval->low <= factor);
      CHECK(played.ratio.interval->high >= factor);
    }
  }
}

TEST_CASE("two rounds mirror each other and every kernel gets to begin") {
  using Order = std::vector<std::size_t>;
  CHECK(order_of_round(0, 2) == Order{0, 1});
  CHECK(order_of_round(1, 2) == Order{1, 0});
  CHECK(order_of_round(2, 2) == Order{1, 0});
  CHECK(order_of_round(3, 2) == Order{0, 1});
  CHECK(order_of_round(0, 3) == Order{0, 1, 2});
  CHECK(order_of_round(1, 3) == Order{2, 1, 0});
  CHECK(order_of_round(2, 3) == Order{1, 2, 0});
  for (const std::size_t arms : {2u, 3u, 5u}) {
    std::vector<std::int64_t> places(arms, 0);
    for (std::int64_t round = 0; round < static_cast<std::int64_t>(2 * arms); ++round) {
      const Order order = order_of_round(round, arms);
      for (std::size_t place = 0; place < arms; ++place) {
        places[order[place]] += static_cast<std::int64_t>(place);
      }
    }
    // All have had the same places in sum.
    CHECK(places == std::vector<std::int64_t>(arms, places[0]));
  }
}

TEST_CASE("the verdict follows from where the whole interval lies") {
  const double inf = std::numeric_limits<double>::infinity();
  struct Row {
    std::optional<Interval> interval;
    double same;
    RatioVerdict verdict;
  };
  const Row rows[] = {
      {Interval{0.995, 1.005}, 0.01, RatioVerdict::same},
      {Interval{1 / 1.01, 1.01}, 0.01, RatioVerdict::same},
      {Interval{0.8, 0.9}, 0.01, RatioVerdict::faster},
      {Interval{1.02, 1.5}, 0.01, RatioVerdict::slower},
      {Interval{0.98, 0.995}, 0.01, RatioVerdict::undecided},
      {Interval{1.005, 1.02}, 0.01, RatioVerdict::undecided},
      {Interval{0.5, 2}, 0.01, RatioVerdict::undecided},
      {Interval{0.98, 0.995}, 0, RatioVerdict::faster},
      {Interval{0.98, 0.995}, 0.05, RatioVerdict::same},
      {Interval{0, inf}, 0.01, RatioVerdict::undecided},
      {std::nullopt, 0.01, RatioVerdict::undecided},
  };
  for (const Row& row : rows) {
    CAPTURE(row.interval ? row.interval->low : -1, row.same);
    CHECK(judge_ratio(Ratio{1, row.interval}, row.same) == row.verdict);
  }
  CHECK(is_slower_by(Ratio{1.1, Interval{1.06, 1.2}}, 0.05));
  CHECK(!is_slower_by(Ratio{1.1, Interval{1.04, 1.2}}, 0.05));
  CHECK(!is_slower_by(Ratio{1.1, std::nullopt}, 0.05));
  CHECK(to_string(RatioVerdict::undecided) == "undecided");
}

TEST_CASE("more comparisons ask for a higher level and more pairs") {
  CHECK(std::abs(level_of_each(1) - 0.99) < 1e-12);
  CHECK(std::abs(level_of_each(10) - 0.999) < 1e-12);
  CHECK(least_pairs(0.95) == 6);
  CHECK(least_pairs(0.99) == 8);
  for (const double level : {0.95, 0.99, 0.999, 0.9999}) {
    const auto pairs = static_cast<std::size_t>(least_pairs(level));
    CHECK(median_interval(std::vector<double>(pairs, 1.0), level).has_value());
    CHECK(!median_interval(std::vector<double>(pairs - 1, 1.0), level).has_value());
  }
}

TEST_CASE("rounds end by precision, time or number, and always after a mirrored pair") {
  const auto rounds_until = [](double spread, double seconds_each, std::int64_t exact) {
    RoundRule rule(1, level_of_each(1), 0.01, exact);
    for (std::int64_t round = 1;; ++round) {
      const double log_ratio = round % 2 == 0 ? spread : -spread;
      const StopReason stop = rule.add({&log_ratio, 1}, seconds_each * static_cast<double>(round));
      if (stop != StopReason::none) return std::pair(round, stop);
    }
  };
  using Answer = std::pair<std::int64_t, StopReason>;
  CHECK(rounds_until(0, 0, 0) == Answer{24, StopReason::precise});
  CHECK(rounds_until(0.5, 0, 0) == Answer{200, StopReason::repeats});
  CHECK(rounds_until(0.5, 0.5, 0) == Answer{42, StopReason::budget});
  CHECK(rounds_until(0, 25, 0) == Answer{6, StopReason::wall});
  CHECK(rounds_until(0.5, 0, 7) == Answer{7, StopReason::repeats});
  CHECK(rounds_until(0, 100, 7) == Answer{7, StopReason::repeats});
}

TEST_CASE("the rounds of a case end at the latest by the rule that ends them first") {
  struct Row {
    std::int64_t exact;
    int rounds;
    double wall_s, left_s;
  };
  for (const Row& row : {Row{50, 10, 5, 20},   // forty rounds of half a second
                         Row{0, 10, 1, 19},    // the budget of 20 s
                         Row{0, 10, 10, 14},   // at least 24 rounds
                         Row{0, 100, 2, 2},    // at most 200 rounds
                         Row{0, 10, 110, 10},  // 120 s in any case
                         Row{0, 30, 130, 0}}) {
    CAPTURE(row.exact, row.rounds, row.wall_s);
    RoundRule rule(1, 0.99, 0.01, row.exact);
    for (int i = 0; i < row.rounds; ++i) rule.add(std::vector<double>{0.1}, 0);
    CHECK(std::abs(rule.most_left_s(row.wall_s) - row.left_s) < 1e-9);
  }
}
