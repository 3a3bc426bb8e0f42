// The runner from the first to the last line: environment, options, plan, session, verb, exit code.
// The one place here that turns an Error into words on stderr. Knows no device and no plug-in.
#include "runner/run.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "core/text.h"
#include "runner/commands.h"
#include "runner/dry_run.h"
#include "runner/lanes.h"
#include "runner/machine.h"
#include "runner/mpi/world.h"
#include "runner/popcorn_fd.h"
#include "runner/rank_server.h"
#include "runner/ranks.h"
#include "runner/results_file.h"
#include "runner/run_cases.h"
#include "runner/say.h"
#include "runner/standard_streams.h"
#include "runner/trace.h"
#include "runner/user_kernel.h"

namespace kbench {
namespace {

/// Control bytes of a path or a word must not reach a terminal; lines stay lines.
std::string printable(const std::string& words) {
  std::string text;
  std::istringstream lines(words);
  for (std::string line; std::getline(lines, line);) {
    if (!text.empty()) text += '\n';
    text += to_one_line(line);
  }
  return text;
}

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

ExitCode run_mode(const Options& asked, Problems problems, std::optional<Fd> popcorn, Lanes& lanes,
                  Watch& watch) {
  check_kernel(asked, problems);
  if (popcorn && !asked.resume.empty()) {
    throw Error(ExitCode::usage,
                "`--resume` is refused while `POPCORN_FD` is set (result lines are "
                "of one run); leave out one of the two");
  }
  watch.limit(asked.time_limit_s);
  const std::vector<Place> places = lanes.places(asked);
  Options options = asked;
  options.device = places.front().device;
  UserKernel kernel(options, problems, lanes.first(), watch);
  const auto cancelled = [&watch] { return watch.must_stop(); };
  const Plan plan = make_plan(
      options, problems, [&] { return kernel.problem(); }, cancelled);
  watch.limit(options.time_limit_s ? options.time_limit_s : plan.time_limit_s);
  std::optional<Resume> resume;
  if (!options.resume.empty()) resume = read_resume(options.resume, cancelled);
  std::optional<ResultsFile> baseline;
  if (!options.baseline.empty()) baseline = read_results(options.baseline, cancelled);
  const auto reporters = make_reporters(options, std::move(popcorn));
  for (const auto& reporter : reporters) reporter->starting(plan.cases.size());
  kernel.build();
  Start start = kernel.start(plan);
  if (resume) start.resume = &*resume;
  if (baseline) start.baseline = &*baseline;
  return run_cases(start, places, watch, reporters);
}

/// What a case would only find out after its failure. The worker makes the folder.
void check_save_failing(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path path = fs::absolute(folder, error);
  while (!fs::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  if (folder.empty() || fs::is_directory(path, error)) return;
  throw Error(ExitCode::usage,
              fmt::format("cannot save failing cases in `{}` (`{}` is no folder); give "
                          "`--save-failing` a folder, or a name for one",
                          to_one_line(folder), to_one_line(path.string())));
}

ExitCode run_verb(const Options& options, const Wiring& wiring, std::optional<Fd> popcorn,
                  const Session::Start& start, Lanes& lanes, Watch& watch) {
  check_save_failing(options.save_failing);
  if (options.verb == Verb::list) return list(options, wiring.problems, lanes.first());
  if (options.verb == Verb::completion || options.verb == Verb::man) {
    const std::string text = options.verb == Verb::man ? man_page()
                             : options.shell == "bash" ? bash_completion()
                                                       : zsh_completion();
    std::fwrite(text.data(), 1, text.size(), stdout);
    return ExitCode::ok;
  }
  if (options.verb == Verb::new_kernel) return new_kernel(options);
  if (options.verb == Verb::profile_command) return profile_command(options, wiring.problems);
  if (options.verb == Verb::build) return build(options, lanes.first(), watch);
  if (options.verb == Verb::report) return report(options, wiring.problems, watch);
  if (options.verb == Verb::compare && is_results_path(options.words.front())) {
    return compare_files(options, watch);
  }
  if (options.verb == Verb::compare) return compare(options, wiring.problems, start, watch);
  if (options.verb == Verb::generate) {
    watch.limit(options.time_limit_s);
    const Plan plan =
        make_plan(options, wiring.problems, {}, [&watch] { return watch.must_stop(); });
    return generate(options, plan, lanes.first(), watch);
  }
  if (options.verb == Verb::trace) {
    if (options.cupti != CuptiUse::on && yields_to_profiler()) return ExitCode::ok;
    popcorn.reset();  // the evaluator's protocol has no traces
  }
  if (options.dry_run && popcorn) {
    throw Error(ExitCode::usage,
                "`--dry-run` is refused while `POPCORN_FD` is set (there is no result to tell); "
                "leave out one of the two");
  }
  if (options.dry_run) {
    return dry_run(options, wiring.problems, wiring.job_memory,
                   [&watch] { return watch.must_stop(); });
  }
  return run_mode(options, wiring.problems, std::move(popcorn), lanes, watch);
}

/// A worker of the same account, whatever it holds, must not reach this process's descriptors
/// through /proc. Tools that look into kbench on purpose may.
void shut_out_workers(bool in_process) {
  if (!in_process && detect_profiler().empty()) prctl(PR_SET_DUMPABLE, 0);
}

/// Workers of this process: in a process of their own, a plain child for a profiler, or a thread.
Session::Start worker_start(bool in_process, const Wiring& wiring, Siblings& siblings,
                            DeviceLocks& locks) {
  const auto start = [in_process, serve = wiring.serve, &siblings] {
    if (in_process) return start_worker_thread(serve);
    return detect_profiler().empty() ? start_worker_process(siblings)
                                     : start_worker_child(siblings);
  };
  return Session::Start{start, &locks};
}

/// True when stdout is not the only place where the verb puts what it was asked for.
bool has_other_output(const Options& options, bool popcorn) {
  const bool exports = !options.json.empty() || !options.csv.empty() || !options.markdown.empty() ||
                       !options.junit.empty();
  const bool page = options.verb == Verb::report && !options.out.empty();
  return popcorn || exports || page || options.verb == Verb::new_kernel;
}

ExitCode run_options(const Options& options, const Wiring& wiring, std::optional<Fd> popcorn,
                     Ranks ranks, Watch::Clock::time_point start, StandardStreams& streams) {
  Watch watch(start);
  shut_out_workers(options.in_process);
  if (options.in_process) {
    say("--in-process: isolation is off, a kernel that crashes or hangs takes kbench with it");
  }
  Siblings siblings;
  DeviceLocks locks;
  const Session::Start start_worker = worker_start(options.in_process, wiring, siblings, locks);
  Lanes lanes(start_worker, std::move(ranks), watch);
  const double patience_s = popcorn ? k_short_patience_s : k_patience_s;
  const bool other_output = has_other_output(options, popcorn.has_value());
  ExitCode code = run_verb(options, wiring, std::move(popcorn), start_worker, lanes, watch);
  streams.finish(patience_s, &watch);
  if (code == ExitCode::ok && !other_output && streams.lost_stdout()) code = ExitCode::usage;
  // The thread of a hanging worker still runs: nothing may be destroyed under it.
  if (lanes.first().abandoned()) _exit(static_cast<int>(code));
  return code;
}

/// A rank other than 0: no options, no output, one worker at the service of rank 0.
ExitCode run_rank(Ranks& ranks, const Wiring& wiring) {
  for (const char* name : {"POPCORN_FD", "POPCORN_SEED"}) unsetenv(name);
  Watch watch(Watch::Clock::now());
  shut_out_workers(false);
  Siblings siblings;
  DeviceLocks locks;
  Session session(worker_start(false, wiring, siblings, locks), watch);
  serve_rank(ranks.peers.front().link, session, watch);
  if (watch.must_stop()) say(fmt::format("rank {}: {}", ranks.rank, watch.reason()));
  return ExitCode::ok;
}

ExitCode run_or_throw(int argc, char** argv, const Wiring& wiring,
                      std::optional<StandardStreams>& streams) {
  const Watch::Clock::time_point start = Watch::Clock::now();
  const std::optional<LaunchedRank> launched = launched_rank();
  Popcorn popcorn;
  if (!launched || launched->rank == 0) popcorn = take_popcorn();
  open_standard_descriptors();
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file limit is an error of the write, not the end of the run
  if (launched && launched->rank > 0 && !has_mpi()) return ExitCode::usage;  // rank 0 says why
  // The others leave as soon as rank 0 lets go of them, whatever is wrong with the options.
  Ranks ranks;
  if (launched) ranks = join_ranks();
  streams.emplace();
  if (ranks.rank > 0) return run_rank(ranks, wiring);
  const Parsed parsed = parse_options(argc, argv, popcorn.seed);
  if (!parsed.options) {
    std::fwrite(parsed.text.data(), 1, parsed.text.size(), parsed.to_stderr ? stderr : stdout);
    streams->finish(k_short_patience_s, nullptr);
    return parsed.to_stderr || streams->lost_stdout() ? ExitCode::usage : ExitCode::ok;
  }
  return run_options(*parsed.options, wiring, std::move(popcorn.fd), std::move(ranks), start,
                     *streams);
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
  if (!words.empty()) say(printable(words));
  streams->finish(k_short_patience_s, nullptr);
  return static_cast<int>(code);
}

}  // namespace kbench
