// The runner from the first to the last line: environment, options, plan, session, verb, exit code.
// The one place here that turns an Error into words on stderr. Knows no device and no plug-in.
#include "runner/run.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "runner/commands.h"
#include "runner/machine.h"
#include "runner/popcorn_fd.h"
#include "runner/results_file.h"
#include "runner/run_cases.h"
#include "runner/say.h"
#include "runner/standard_streams.h"
#include "runner/trace.h"
#include "runner/user_kernel.h"

namespace kbench {
namespace {

/// How long the end of kbench waits for somebody to read on, once all results are written. A caller
/// with a result descriptor waits for the end.
constexpr double k_patience_s = 10, k_short_patience_s = 1;

/// Descriptors 0-2 that are closed would be given to the next file or pipe opened.
void open_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
    if (null.get() == fd) {
      null.release();
    } else {
      dup2(null.get(), fd);
    }
  }
}

/// Every CUDA device of this machine. Throws Error(device) when there is none.
std::vector<DeviceRequest> find_all_devices(Session& session) {
  Setup setup;
  setup.device.kind = DeviceRequest::Kind::host;
  setup.list_devices = true;
  const Hello hello = greet(session, setup);
  session.finish();
  std::vector<DeviceRequest> devices;
  for (const DeviceInfo& device : hello.devices) {
    if (device.kind == DeviceKind::cuda)
      devices.push_back({DeviceRequest::Kind::cuda, device.index});
  }
  if (!devices.empty()) return devices;
  throw Error(ExitCode::device,
              "`--devices all` finds no CUDA device; see `kbench list devices`, or give `--devices "
              "host,host`");
}

/// The lanes of a run; the first one serves everything else that needs a worker.
class Lanes {
 public:
  Lanes(Session::Start start, Watch& watch) : start_(std::move(start)), watch_(watch) { add(); }

  Session& first() { return sessions_.front(); }

  /// One place for each device that the options ask for.
  std::vector<Place> places(const Options& options) {
    std::vector<DeviceRequest> devices = options.devices;
    if (options.all_devices) devices = find_all_devices(first());
    if (devices.empty()) devices = {options.device};
    while (sessions_.size() < devices.size()) add();
    std::vector<Place> places;
    for (std::size_t k = 0; k < devices.size(); ++k)
      places.push_back({&sessions_[k], devices[k], -1, ""});
    return places;
  }

 private:
  void add() { sessions_.emplace_back(start_, watch_); }

  Session::Start start_;
  Watch& watch_;
  std::deque<Session> sessions_;
};

ExitCode run_mode(const Options& asked, Problems problems, std::optional<Fd> popcorn, Lanes& lanes,
                  Watch& watch) {
  check_kernel(asked, problems);
  watch.limit(asked.time_limit_s);
  const std::vector<Place> places = lanes.places(asked);
  Options options = asked;
  options.device = places.front().device;
  UserKernel kernel(options, problems, lanes.first(), watch);
  const Plan plan = make_plan(options, problems, [&] { return kernel.problem(); });
  watch.limit(options.time_limit_s ? options.time_limit_s : plan.time_limit_s);
  const auto reporters = make_reporters(options, std::move(popcorn));
  for (const auto& reporter : reporters) reporter->starting(plan.cases.size());
  kernel.build();
  return run_cases(kernel.start(plan), places, watch, reporters);
}

ExitCode run_verb(const Options& options, const Wiring& wiring, std::optional<Fd> popcorn,
                  const Session::Start& start, Lanes& lanes, Watch& watch) {
  if (options.verb == Verb::list) return list(options, wiring.problems, lanes.first());
  if (options.verb == Verb::new_kernel) return new_kernel(options);
  if (options.verb == Verb::profile_command) return profile_command(options, wiring.problems);
  if (options.verb == Verb::build) return build(options, lanes.first(), watch);
  if (options.verb == Verb::report) return report(options, wiring.problems);
  if (options.verb == Verb::compare && is_results_path(options.words.front())) {
    return compare_files(options);
  }
  if (options.verb == Verb::compare) return compare(options, wiring.problems, start, watch);
  if (options.verb == Verb::generate) {
    const Plan plan = make_plan(options, wiring.problems, {});
    watch.limit(options.time_limit_s);
    return generate(options, plan, lanes.first(), watch);
  }
  if (options.verb == Verb::trace) {
    if (options.cupti != CuptiUse::on && yields_to_profiler()) return ExitCode::ok;
    popcorn.reset();  // the evaluator's protocol has no traces
  }
  return run_mode(options, wiring.problems, std::move(popcorn), lanes, watch);
}

/// A worker of the same account, whatever it holds, must not reach this process's descriptors
/// through /proc. Tools that look into kbench on purpose may.
void shut_out_workers(const Options& options) {
  if (!options.in_process && detect_profiler().empty()) prctl(PR_SET_DUMPABLE, 0);
}

ExitCode run_options(const Options& options, const Wiring& wiring, std::optional<Fd> popcorn,
                     Watch::Clock::time_point start, StandardStreams& streams) {
  Watch watch(start);
  shut_out_workers(options);
  if (options.in_process) {
    say("--in-process: isolation is off, a kernel that crashes or hangs takes kbench with it");
  }
  Siblings siblings;
  DeviceLocks locks;
  const Session::Start start_worker{[&]() {
                                      if (options.in_process)
                                        return start_worker_thread(wiring.serve);
                                      return detect_profiler().empty()
                                                 ? start_worker_process(siblings)
                                                 : start_worker_child(siblings);
                                    },
                                    &locks};
  Lanes lanes(start_worker, watch);
  const double patience_s = popcorn ? k_short_patience_s : k_patience_s;
  const ExitCode code = run_verb(options, wiring, std::move(popcorn), start_worker, lanes, watch);
  streams.finish(patience_s, &watch);
  // The thread of a hanging worker still runs: nothing may be destroyed under it.
  if (lanes.first().abandoned()) _exit(static_cast<int>(code));
  return code;
}

ExitCode run_or_throw(int argc, char** argv, const Wiring& wiring,
                      std::optional<StandardStreams>& streams) {
  const Watch::Clock::time_point start = Watch::Clock::now();
  Popcorn popcorn = take_popcorn();
  open_standard_descriptors();
  streams.emplace();
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file limit is an error of the write, not the end of the run
  const Parsed parsed = parse_options(argc, argv, popcorn.seed);
  if (!parsed.options) {
    std::fwrite(parsed.text.data(), 1, parsed.text.size(), parsed.to_stderr ? stderr : stdout);
    return parsed.to_stderr ? ExitCode::usage : ExitCode::ok;
  }
  return run_options(*parsed.options, wiring, std::move(popcorn.fd), start, *streams);
}

}  // namespace

int run(int argc, char** argv, const Wiring& wiring) {
  std::optional<StandardStreams> streams;
  ExitCode code = ExitCode::ok;
  std::string words;
  try {
    code = run_or_throw(argc, argv, wiring, streams);
  } catch (const Error& error) {
    words = error.what();
    code = error.code();
  } catch (const std::exception& error) {
    words = fmt::format("kbench failed ({}); this is a fault of kbench, please report it",
                        error.what());
    code = ExitCode::usage;
  }
  if (!streams) streams.emplace();
  if (!words.empty()) say(words);
  streams->finish(k_short_patience_s, nullptr);
  return static_cast<int>(code);
}

}  // namespace kbench
