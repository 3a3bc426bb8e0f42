// Which device each lane gets. Asks a worker for the devices of this machine; runs no case.
#include "runner/lanes.h"

#include <fmt/core.h>

#include <utility>

#include "runner/commands.h"

namespace kbench {
namespace {

/// Every CUDA device of this machine. Throws Error(device) when there is none.
std::vector<DeviceRequest> find_all_devices(Session& session) {
  Setup setup;
  setup.device.kind = DeviceRequest::Kind::host;
  setup.list_devices = true;
  const Hello hello = greet(session, setup);
  session.finish();
  std::vector<DeviceRequest> devices;
  for (const DeviceInfo& device : hello.devices) {
    if (device.kind == DeviceKind::cuda) {
      devices.push_back({DeviceRequest::Kind::cuda, device.index});
    }
  }
  if (!devices.empty()) return devices;
  throw Error(ExitCode::device,
              "`--devices all` finds no CUDA device; see `kbench list devices`, or give `--devices "
              "host,host`");
}

/// Device of the rank that is number `turn` on its machine: the ranks take the listed ones, or all
/// CUDA devices, in turn. A device that was named alone is everybody's.
DeviceRequest device_of_rank(const Options& options, int turn) {
  if (!options.devices.empty()) {
    return options.devices[static_cast<std::size_t>(turn) % options.devices.size()];
  }
  if (options.all_devices) return {DeviceRequest::Kind::cuda, turn};
  DeviceRequest device = options.device;
  if (device.kind == DeviceRequest::Kind::automatic) device.index = turn;
  return device;
}

}  // namespace

Lanes::Lanes(Session::Start start, Ranks ranks, Watch& watch)
    : start_(std::move(start)), ranks_(std::move(ranks)), watch_(watch) {
  sessions_.emplace_back(start_, watch_);
}

std::vector<Place> Lanes::places(const Options& options) {
  std::vector<Place> places = ranks_.size > 1 ? rank_places(options) : local_places(options);
  if (options.together && places.size() < 2) {
    throw Error(ExitCode::usage,
                "`--together` needs several workers (there is one); name several with `--devices`, "
                "or start kbench with `mpirun -n R`");
  }
  return places;
}

std::vector<Place> Lanes::local_places(const Options& options) {
  std::vector<DeviceRequest> devices = options.devices;
  if (options.all_devices) devices = find_all_devices(first());
  if (devices.empty()) devices = {options.device};
  while (sessions_.size() < devices.size()) sessions_.emplace_back(start_, watch_);
  std::vector<Place> places;
  for (std::size_t k = 0; k < devices.size(); ++k) {
    places.push_back({&sessions_[k], devices[k], -1, ""});
  }
  return places;
}

std::vector<Place> Lanes::rank_places(const Options& options) {
  if (options.in_process) {
    throw Error(ExitCode::usage,
                "`--in-process` is for one process (there are several ranks); start one kbench");
  }
  std::vector<Place> places = {{&first(), device_of_rank(options, 0), 0, ranks_.host}};
  if (options.mode->only_first_case) return places;
  for (Peer& peer : ranks_.peers) {
    rank_lanes_.emplace_back(std::move(peer.link),
                             fmt::format("rank {} on {}", peer.rank, peer.host),
                             options.rank_timeout_s, watch_, peer.same_machine);
    places.push_back(
        {&rank_lanes_.back(), device_of_rank(options, peer.turn), peer.rank, peer.host});
  }
  return places;
}

}  // namespace kbench
