// Has a worker write the inputs of every case and prints what came out. Sees no matrix itself.
#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "core/text.h"
#include "runner/commands.h"
#include "runner/say.h"

namespace kbench {
namespace {

void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && std::filesystem::is_directory(folder, error)) return;
  throw Error(ExitCode::usage,
              fmt::format("cannot write inputs into `{}` ({}); give `--out` a folder",
                          to_one_line(folder), error ? error.message() : "it is a file"));
}

Job make_job(const Options& options, const PlannedCase& planned) {
  const Case& spec = planned.spec;
  Job job;
  job.kind = JobKind::generate;
  job.spec = spec;
  job.seeds = planned.seeds;
  job.out = options.out;
  job.save_stem = fmt::format("{}-{}-{}x{}-{}", spec.problem, planned.case_index, spec.batch,
                              spec.n, spec.kind);
  return job;
}

void print_inputs(const Case& spec, const Reply& reply) {
  for (const InputRecord& input : reply.inputs) {
    const std::string line =
        fmt::format("{}  [{},{},{}]  seed {}  {:.3f} ms  {}\n", to_one_line(input.sha256),
                    spec.batch, spec.n, spec.n, input.seed, input.ms, to_one_line(input.path));
    std::fwrite(line.data(), 1, line.size(), stdout);
  }
  std::fflush(stdout);
}

/// Words when the case failed.
std::optional<std::string> run_case(const Options& options, const PlannedCase& planned,
                                    Session& session, Setup setup) {
  if (!session.has_worker()) {
    auto greeting = session.set_up(std::move(setup));
    if (auto* failure = std::get_if<Failure>(&greeting)) return failure->words;
    const Hello& hello = std::get<Hello>(greeting);
    if (!hello.error.empty()) return hello.error;
  }
  auto answer = session.run(make_job(options, planned));
  if (auto* failure = std::get_if<Failure>(&answer)) return failure->words;
  const Reply& reply = std::get<Reply>(answer);
  if (reply.worker_unusable) session.end();
  print_inputs(planned.spec, reply);
  if (reply.passed) return std::nullopt;
  return reply.error.empty() ? "failed" : reply.error;
}

}  // namespace

Hello greet(Session& session, const Setup& setup) {
  auto answer = session.set_up(setup);
  if (auto* failure = std::get_if<Failure>(&answer)) {
    const bool none = failure->kind == Failure::Kind::none;
    throw Error(
        none ? ExitCode::usage : ExitCode::device,
        none ? failure->words : fmt::format("no worker ({}); see the lines above", failure->words));
  }
  Hello hello = std::get<Hello>(std::move(answer));
  if (!hello.note.empty()) say(to_one_line(hello.note));
  if (!hello.error.empty()) {
    throw Error(hello.code == ExitCode::ok ? ExitCode::device : hello.code, hello.error);
  }
  return hello;
}

ExitCode generate(const Options& options, const Plan& plan, Session& session, Watch& watch) {
  make_folder(options.out);
  Setup setup;
  setup.device = options.device;
  setup.lock = options.lock;
  greet(session, setup);
  ExitCode code = ExitCode::ok;
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const PlannedCase& planned = plan.cases[i];
    std::optional<std::string> error;
    if (watch.must_stop()) {
      error = fmt::format("not run ({})", watch.short_reason());
    } else {
      error = run_case(options, planned, session, setup);
    }
    if (!error) continue;
    say(fmt::format("case {} ({}): {}", i, to_one_line(planned.spec.spec), to_one_line(*error)));
    code = ExitCode::case_failed;
  }
  session.finish();
  return code;
}

}  // namespace kbench
