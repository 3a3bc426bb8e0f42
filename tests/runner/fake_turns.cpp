// Times that follow from a seed and from how many turns there have been, so that a comparison of
// separate processes is the same every time.
#include "fake_turns.h"

#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "runner/ranks.h"

using namespace kbench;

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

double number(const char* name) { return std::strtod(variable(name).c_str(), nullptr); }

}  // namespace

void FakeTurns::set_kernel(const std::string& path) {
  if (path.empty()) return;
  kernel_ = std::filesystem::path(path).stem().string();
  std::string problem, device;
  std::ifstream file(path);
  file >> problem >> device;
  if (!(file >> factor_)) factor_ = 1;
}

void FakeTurns::begin(const Job& job, Reply passing) {
  job_ = job;
  reply_ = std::move(passing);
  reply_.samples_ns.clear();
  is_prepared_ = false;
  const std::optional<LaunchedRank> launched = launched_rank();
  is_odd_ = job.together && launched && launched->rank == 1;
  log_("begin " + kernel_);
  send_(Ready{job.token, 0});
}

double FakeTurns::sample() {
  const std::string path = variable("FAKE_CLOCK");
  std::uint64_t moment = 0;
  if (!path.empty()) {
    std::ofstream(path, std::ios::app) << '.';
    moment = std::filesystem::file_size(path);
  }
  std::mt19937_64 random(1000003 * static_cast<std::uint64_t>(number("FAKE_SEED")) + moment);
  const double noise = std::normal_distribution<double>()(random) * number("FAKE_NOISE");
  const double drift = 1 + 0.001 * static_cast<double>(moment);
  return 1000 * factor_ * drift * std::exp(noise);
}

void FakeTurns::turn(const Turn& turn) {
  const bool plays_foul = kernel_ == "blocked";
  if (!turn.more) {
    log_("end " + kernel_);
    if (plays_foul && job_.spec.kind == "lastwords") {
      reply_.passed = false;
      reply_.error = "impossible time";
    }
    if (plays("onewrong")) {
      reply_.passed = false;
      reply_.error = "factor: matrix 3: 7 > 2";
    }
    send_(reply_);
    return;
  }
  if (job_.together) return begin_together(turn);
  log_("turn " + kernel_);
  reply_.samples_ns.push_back(sample());
  const std::size_t turns = reply_.samples_ns.size();
  if (plays_foul && job_.spec.kind == "diesinturn" && turns == 3) raise(SIGKILL);
  if (plays_foul && job_.spec.kind == "badtime" && turns == 2) reply_.samples_ns.back() = 0;
  send_(Ready{turn.token, reply_.samples_ns.back()});
}

void FakeTurns::begin_together(const Turn& turn) {
  is_prepared_ = !is_prepared_;
  if (is_prepared_) return send_(Ready{turn.token, 0, true});
  if (plays("onewaits") && reply_.samples_ns.size() == 1) wait_forever_();
  reply_.starts.push_back({turn.start_ns, turn.start_ns + (job_.may_hold ? 200 : 0)});
  reply_.samples_ns.push_back(sample() * (plays("oneslow") ? 5 : 1));
  send_(Ready{turn.token, reply_.samples_ns.back(), false});
}
