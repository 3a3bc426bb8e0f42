// Decides by the environment and by what a worker says of CUPTI. Loads no library and touches no
// device: the worker does, and only when it is told to.
#include "runner/profiler.h"

#include <fmt/core.h>

#include <cstdlib>

#include "core/text.h"

namespace kbench {
namespace {

const char* variable(const char* name) { return std::getenv(name); }

}  // namespace

Profiler present_profiler() { return find_profiler(variable); }

bool asks_cupti(const Options& options) {
  if (options.verb == Verb::trace) return true;
  if (options.cupti != CuptiUse::automatic) return options.cupti == CuptiUse::on;
  if (options.mode == nullptr || options.mode->uses_tests) return false;
  if (!present_profiler().tool.empty()) return false;
  return options.launch == Launch::queued || !find_hint(variable).empty();
}

Profiler profiler_of(const Hello& hello) {
  if (!hello.cupti || hello.cupti->kind != CuptiState::Kind::held) return {};
  const std::string holder = to_one_line(hello.cupti->holder);
  return {tool_of_holder(holder), holder, ""};
}

std::optional<std::string> why_no_cupti(const Options& options, const Hello& hello) {
  if (options.cupti != CuptiUse::on) return std::nullopt;
  if (!hello.cupti) {
    return "`--cupti on` needs a CUDA device (this run is on the host); leave it out or use "
           "`--device cuda`";
  }
  const std::string reason = to_one_line(hello.cupti->reason);
  switch (hello.cupti->kind) {
    case CuptiState::Kind::available:
      return std::nullopt;
    case CuptiState::Kind::held:
      return fmt::format("`--cupti on` cannot be had ({} holds CUPTI: {}); run without it",
                         to_one_line(hello.cupti->holder), reason);
    case CuptiState::Kind::missing:
      break;
  }
  return fmt::format("`--cupti on` cannot be had: {}", reason);
}

std::string why_not_held_back(const Options& options, const Profiler& profiler) {
  if (!profiler.tool.empty()) {
    return fmt::format("run under {}, which may run one launch at a time", profiler.tool);
  }
  const std::string hint = find_hint(variable);
  if (hint.empty() || options.cupti != CuptiUse::off) return "";
  return fmt::format("`{}` is set, and `--cupti off` forbids to ask whether a tool is there", hint);
}

std::string profiler_line(const Profiler& profiler) {
  const std::string how =
      profiler.variable.empty() ? "it holds CUPTI" : fmt::format("`{}` is set", profiler.variable);
  return fmt::format("running under {} ({}): the figures are not comparable, CUPTI is left alone",
                     profiler.tool, how);
}

}  // namespace kbench
