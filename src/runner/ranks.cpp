// The first minute of a run of several ranks. MPI carries two texts: which machine each rank is on,
// and where rank 0 listens; the rest is sockets. Must not know what the ranks are for.
#include "runner/ranks.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string_view>

#include "core/error.h"
#include "core/text.h"
#include "runner/machine.h"
#include "runner/mpi/world.h"
#include "runner/nonce.h"

namespace kbench {
namespace {

using Clock = Watch::Clock;

constexpr double k_limit_s = 60;

struct Launcher {
  const char *rank, *size;
};
/// Open MPI; MPICH and its kin, and Slurm's PMI2; Slurm's PMIx.
constexpr std::array<Launcher, 3> k_launchers{{{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                               {"PMI_RANK", "PMI_SIZE"},
                                               {"PMIX_RANK", "SLURM_NTASKS"}}};

std::optional<int> number_in(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const std::string_view view = text;
  const auto [stop, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc() || stop != view.data() + view.size() || value < 0) return std::nullopt;
  return value;
}

/// Tells machines apart; two containers of one machine may share the rest but not the name.
std::string machine_key() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return describe_machine().hostname + ' ' + boot;
}

/// Rank of a connection that knows the secret; nothing yet, or -1 for anybody else.
std::optional<int> read_join(Link& link, const std::string& secret) {
  const auto letter = link.take();
  if (!letter) return link.is_open() ? std::nullopt : std::optional(-1);
  const std::string& body = letter->body;
  if (letter->kind != Letter::Kind::join || body != secret) return -1;
  return static_cast<int>(letter->number);
}

/// Takes connections until every rank but 0 has joined.
std::map<int, Link> gather(Listener& listener, int size, const std::string& secret) {
  std::map<int, Link> joined;
  std::vector<Link> strangers;
  const Clock::time_point deadline =
      Clock::now() + std::chrono::seconds(static_cast<int>(k_limit_s));
  while (static_cast<int>(joined.size()) + 1 < size) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      throw Error(ExitCode::device,
                  fmt::format("only {} of {} ranks came within {:g} s; look for the last words of "
                              "the others above",
                              joined.size() + 1, size, k_limit_s));
    }
    std::vector<pollfd> entries = {{listener.socket(), POLLIN, 0}};
    for (const Link& link : strangers) entries.push_back({link.socket(), POLLIN, 0});
    poll(entries.data(), entries.size(), static_cast<int>(left));
    while (auto link = listener.accept()) strangers.push_back(std::move(*link));
    for (auto at = strangers.begin(); at != strangers.end();) {
      const std::optional<int> rank = read_join(*at, secret);
      if (rank && *rank > 0 && *rank < size) joined.emplace(*rank, std::move(*at));
      at = rank ? strangers.erase(at) : at + 1;
    }
  }
  return joined;
}

/// Number of each rank among those of its machine.
std::vector<int> turns_of(const std::vector<std::string>& machines) {
  std::vector<int> turns;
  for (auto at = machines.begin(); at != machines.end(); ++at) {
    turns.push_back(static_cast<int>(std::count(machines.begin(), at, *at)));
  }
  return turns;
}

}  // namespace

std::optional<LaunchedRank> launched_rank() {
  for (const Launcher& launcher : k_launchers) {
    const std::optional<int> rank = number_in(launcher.rank), size = number_in(launcher.size);
    if (rank && size && *size > 1) return LaunchedRank{*rank, *size};
  }
  return std::nullopt;
}

Ranks join_ranks() {
  Ranks ranks;
  std::vector<std::string> machines;
  std::string where;  // rank 0 listens, and the secret
  std::optional<Listener> listener;
  {
    MpiWorld world(k_limit_s);
    ranks.rank = world.rank();
    ranks.size = world.size();
    machines = world.exchange(machine_key());
    if (ranks.rank == 0) {
      const bool local = std::count(machines.begin(), machines.end(), machines[0]) == ranks.size;
      listener.emplace(local);
      where = random_word("a secret") + ' ' + listener->addresses();
    }
    where = world.exchange(where).front();
  }
  ranks.host = describe_machine().hostname;
  const std::string secret = where.substr(0, where.find(' '));
  if (ranks.rank > 0) {
    Link link = connect_to(where.substr(secret.size() + 1), k_limit_s);
    link.send({Letter::Kind::join, ranks.rank, secret});
    ranks.peers.push_back({0, "", 0, true, std::move(link)});
    return ranks;
  }
  const std::vector<int> turns = turns_of(machines);
  for (auto& [rank, link] : gather(*listener, ranks.size, secret)) {
    const auto k = static_cast<std::size_t>(rank);
    const std::string host = machines[k].substr(0, machines[k].find(' '));
    ranks.peers.push_back({rank, host, turns[k], machines[k] == machines[0], std::move(link)});
  }
  return ranks;
}

}  // namespace kbench
