// The decisions of the verb `trace`. Must not know how a trace is recorded or shown.
#include "runner/trace.h"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>

#include "core/profilers.h"
#include "core/text.h"
#include "runner/say.h"

namespace kbench {
namespace {

constexpr std::int64_t k_repeats = 10;

/// `trace.json`, or `trace-3.json` for case 3 of several.
std::string chrome_path(const std::string& asked, std::int64_t number, bool several) {
  const std::filesystem::path path = std::filesystem::absolute(asked);
  if (!several) return path.string();
  const std::string name =
      fmt::format("{}-{}{}", path.stem().string(), number, path.extension().string());
  return (path.parent_path() / name).string();
}

}  // namespace

bool yields_to_profiler() {
  const Profiler profiler = find_profiler([](const char* name) { return std::getenv(name); });
  if (profiler.tool.empty()) return false;
  say(fmt::format("nothing is traced: {} has CUPTI (`{}` is set); run `kbench trace` without it",
                  profiler.name, profiler.variable));
  return true;
}

std::optional<NoTrace> why_no_trace(const Hello& hello) {
  if (!hello.device || hello.device->kind == DeviceKind::host) {
    return NoTrace{ExitCode::device,
                   "nothing to trace on the host (CUPTI records what a CUDA device does); use "
                   "`--device cuda` on a machine with a GPU"};
  }
  if (!hello.cupti || hello.cupti->kind == CuptiState::Kind::available) return std::nullopt;
  const std::string reason = to_one_line(hello.cupti->reason);
  if (hello.cupti->kind == CuptiState::Kind::held) {
    return NoTrace{
        ExitCode::ok,
        fmt::format("nothing is traced: {} has CUPTI ({}); run `kbench trace` without it",
                    to_one_line(hello.cupti->holder), reason)};
  }
  return NoTrace{ExitCode::device, fmt::format("no tracing ({})", reason)};
}

void request_trace(const Options& options, const Plan& plan, std::size_t i, Job& job) {
  job.kind = JobKind::trace;
  job.exact_repeats = options.repeats > 0 ? options.repeats : k_repeats;
  TraceRequest request;
  request.names = options.names;
  request.multiple = options.multiple;
  if (!options.chrome_trace.empty()) {
    request.chrome_trace =
        chrome_path(options.chrome_trace, plan.cases[i].case_index, plan.cases.size() > 1);
  }
  job.trace = std::move(request);
}

}  // namespace kbench
