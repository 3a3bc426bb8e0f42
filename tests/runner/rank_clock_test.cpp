// The clock of another machine, played by a thread at the far end of a connection.
#include <sys/socket.h>

#include <array>
#include <cmath>
#include <string>
#include <thread>

#include "catch.h"
#include "runner/rank_lane.h"

using namespace kbench;

namespace {

constexpr std::int64_t k_ahead_ns = 3'000'000'000'000;

/// Answers questions for the time like a machine whose clock is ahead, every fifth one late, until
/// the connection is closed; keeps the last Turn and answers it with a Reply.
void play_rank(Link link, std::int64_t& start_ns) {
  Watch watch(Watch::Clock::now());
  for (int answered = 0; link.is_open();) {
    while (const auto letter = link.take()) {
      if (letter->kind == Letter::Kind::time) {
        const auto late = std::chrono::milliseconds(++answered % 5 == 0 ? 2 : 0);
        const Watch::Clock::time_point until = Watch::Clock::now() + late;
        while (Watch::Clock::now() < until) std::this_thread::yield();
        link.send(
            {Letter::Kind::time, letter->number, std::to_string(monotonic_ns() + k_ahead_ns)});
      } else if (letter->kind == Letter::Kind::question) {
        start_ns = std::get<Turn>(from_json(letter->body)).start_ns;
        Reply reply;
        reply.starts = {{start_ns + 10, start_ns + 20}};
        link.send({Letter::Kind::answer, letter->number, to_json(Message(reply))});
      }
    }
    Waits waits;
    waits.add(link.socket());
    if (link.is_open()) waits.wait(watch);
  }
}

struct FarRank {
  Watch watch{Watch::Clock::now()};
  std::int64_t start_ns = 0;
  std::thread thread;
  std::optional<RankLane> lane;

  explicit FarRank(bool same_machine) {
    std::array<int, 2> ends{};
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    lane.emplace(Link(Fd(ends[0])), "rank 1 on far", 60, watch, same_machine);
    thread = std::thread([this, end = ends[1]] { play_rank(Link(Fd(end)), start_ns); });
  }
  ~FarRank() {
    lane.reset();
    thread.join();
  }
  Reply reply() {
    for (;;) {
      if (auto news = lane->news()) return std::get<Reply>(std::move(*news));
      Waits waits;
      lane->add_waits(waits);
      waits.wait(watch);
    }
  }
};

}  // namespace

TEST_CASE("the offset of another machine's clock is found to within what is stated") {
  FarRank far(false);
  const ClockOffset offset = far.lane->compare_clocks();
  CHECK(offset.uncertainty_ns > 0);
  CHECK(offset.uncertainty_ns < 1e8);
  CHECK(std::abs(offset.offset_ns - static_cast<double>(k_ahead_ns)) <= offset.uncertainty_ns);
}

TEST_CASE("moments are sent in the time of the other machine and come back in ours") {
  FarRank far(false);
  const ClockOffset offset = far.lane->compare_clocks();
  far.lane->answer(Turn{"t", true, 5000});
  const Reply reply = far.reply();
  CHECK(far.start_ns == 5000 + std::llround(offset.offset_ns));
  CHECK(reply.starts[0].after_ns == 5010);
  CHECK(reply.starts[0].before_ns == 5020);
}

TEST_CASE("a rank of the same machine reads the same clock and is not asked") {
  FarRank near(true);
  const ClockOffset offset = near.lane->compare_clocks();
  CHECK(offset.offset_ns == 0);
  CHECK(offset.uncertainty_ns == 0);
  near.lane->answer(Turn{"t", true, 5000});
  CHECK(near.reply().starts[0].after_ns == 5010);
  CHECK(near.start_ns == 5000);
}

TEST_CASE("a turn without a moment stays without one") {
  FarRank far(false);
  far.lane->compare_clocks();
  far.lane->answer(Turn{"t", false, 0});
  far.reply();
  CHECK(far.start_ns == 0);
}
