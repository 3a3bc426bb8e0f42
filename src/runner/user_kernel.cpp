// Brings the kernel at --kernel PATH to the point where a run can begin: asks a worker for the
// device's architecture, has a source compiled, asks a worker for the plug-in's problem. Knows no
// case and no output but stderr; compiles nothing itself and loads nothing.
#include "runner/user_kernel.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "core/text.h"
#include "runner/compile_cache.h"
#include "runner/paths.h"
#include "runner/profiler.h"
#include "runner/ptxas.h"
#include "runner/say.h"
#include "runner/toolchain.h"

namespace kbench {
namespace {

namespace fs = std::filesystem;

bool is_cuda(const std::string& source) { return source_language(source) == SourceLanguage::cuda; }

/// The compiler's words as they are, with one line end.
void say_words(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (!text.empty()) say(text);
}

/// True when `name` stands in `text` and is no part of a longer name.
bool names(std::string_view text, std::string_view name) {
  const auto is_part = [&](std::size_t at) {
    if (at >= text.size()) return false;
    const char c = text[at];
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string_view::npos; ++at) {
    if (!(at > 0 && is_part(at - 1)) && !is_part(at + name.size())) return true;
  }
  return false;
}

}  // namespace

void check_source(const std::string& path) {
  source_language(path);
  std::error_code error;
  const bool readable = fs::is_regular_file(path, error) && access(path.c_str(), R_OK) == 0;
  constexpr std::uintmax_t k_most_bytes = std::uintmax_t{64} << 20;
  if (readable && fs::file_size(path, error) > k_most_bytes) {
    throw Error(ExitCode::usage, fmt::format("cannot read the kernel `{}` (it has more than 64 "
                                             "MiB); name a source file",
                                             to_one_line(path)));
  }
  if (readable) return;
  throw Error(
      ExitCode::usage,
      fmt::format("cannot read the kernel `{}` (no readable file is there); check the path, "
                  "or write one with `kbench new`",
                  to_one_line(path)));
}

std::string name_source(std::string words, const std::string& library, const std::string& source) {
  if (source.empty() || library.empty()) return words;
  for (std::size_t at = 0; (at = words.find(library, at)) != std::string::npos;) {
    words.replace(at, library.size(), source);
    at += source.size();
  }
  return words;
}

std::string problem_in_source(const std::string& path, Problems problems) {
  const std::optional<std::string> text = read_file(path);
  std::string found;
  for (const ProblemInfo* problem : problems) {
    if (!text || !names(*text, problem->name)) continue;
    if (!found.empty()) return "";
    found = problem->name;
  }
  return found;
}

CompileResult compile_kernel(const std::string& source, const Options& options,
                             const std::string& architecture, Watch& watch) {
  CompileRequest request;
  request.source = source;
  request.extra_flags = options.nvcc_flags;
  request.architecture = architecture;
  request.header_folder = header_folder();
  const std::string name = to_one_line(source);
  // Asked again and again while the compiler runs. Nobody should wonder for longer than a second.
  const Watch::Clock::time_point said_at = Watch::Clock::now() + std::chrono::milliseconds(500);
  request.cancelled = [&watch, &name, said_at, said = false]() mutable {
    if (!said && Watch::Clock::now() > said_at) {
      say(fmt::format("compiling {}", name));
      said = true;
    }
    return watch.must_stop();
  };
  CompileResult result = compile(request);
  if (!result.ok) {
    say(result.error);
    say_words(result.output);
  } else if (result.cached) {
    say(fmt::format("{}: cached ({:.2f} s)", name, result.seconds));
  } else {
    say_words(is_cuda(source) ? without_resource_lines(result.output) : result.output);
    say(fmt::format("compiled {} in {:.1f} s", name, result.seconds));
  }
  return result;
}

UserKernel::UserKernel(const Options& options, Problems problems, Session& session, Watch& watch)
    : options_(options), problems_(problems), session_(session), watch_(watch) {
  if (is_source_path(options.kernel)) {
    source_ = options.kernel;
    if (options_.device.kind == DeviceRequest::Kind::automatic) {
      options_.device.kind =
          is_cuda(source_) ? DeviceRequest::Kind::cuda : DeviceRequest::Kind::host;
    }
  } else if (!options.nvcc_flags.empty()) {
    say("--nvcc-flags has no effect: this kernel is not compiled, it is a plug-in already");
  }
}

/// Compute capability of the device that the run will use; empty when there is nothing to ask, or
/// with the reason in `error_` when the worker could not answer.
std::string UserKernel::architecture() {
  if (!is_cuda(source_) || options_.device.kind == DeviceRequest::Kind::host) return "";
  Setup setup;
  setup.device = options_.device;
  auto answer = session_.set_up(setup);
  if (auto* failure = std::get_if<Failure>(&answer)) {
    error_ = failure->words;
    return "";
  }
  const Hello hello = std::get<Hello>(std::move(answer));
  // It would hold the device during the compilation, and the plug-in needs another one anyhow.
  session_.finish();
  if (hello.code == ExitCode::case_failed) {
    error_ = hello.error;
    return "";
  }
  if (!hello.error.empty() || !hello.device) {
    throw Error(hello.code == ExitCode::ok ? ExitCode::device : hello.code,
                fmt::format("kernel `{}` needs a CUDA device: {}", to_one_line(source_),
                            hello.error.empty() ? "the worker named none" : hello.error));
  }
  device_ = hello.device;
  return hello.device->capability;
}

void UserKernel::build() {
  if (!is_source() || built_) return;
  built_ = true;
  const std::string capability = architecture();
  if (!error_.empty()) return;
  const CompileResult result = compile_kernel(source_, options_, capability, watch_);
  if (result.ok) {
    options_.kernel = result.library;
  } else {
    error_ = result.error;
  }
}

std::string UserKernel::ask_plugin() {
  Setup setup;
  setup.device = options_.device;
  setup.kernel_path = options_.kernel;
  setup.lock = options_.lock;
  setup.call_timeout_s = options_.call_timeout_s;
  setup.ask_cupti = asks_cupti(options_);
  auto answer = session_.set_up(setup);
  if (auto* failure = std::get_if<Failure>(&answer)) {
    const std::string words = fmt::format("cannot load kernel `{}` ({}); correct the {}",
                                          to_one_line(is_source() ? source_ : options_.kernel),
                                          failure->words, is_source() ? "source" : "plug-in");
    // The cases still have their lines and the run its verdict; their names tell the problem.
    error_ = words;
    return is_source() ? problem_in_source(source_, problems_) : "";
  }
  greeting_ = std::get<Hello>(std::move(answer));
  if (greeting_->kernel) return greeting_->kernel->problem;
  const bool device = greeting_->code == ExitCode::device;
  const std::string words =
      greeting_->error.empty() ? "the worker did not describe the kernel" : greeting_->error;
  if (device || !is_source()) throw Error(device ? ExitCode::device : ExitCode::usage, words);
  // What the compiler made is no plug-in: that is the source's fault, as a compile error is.
  error_ = name_source(words, options_.kernel, source_);
  greeting_.reset();
  session_.end();
  return problem_in_source(source_, problems_);
}

std::string UserKernel::problem() {
  build();
  return error_.empty() ? ask_plugin() : problem_in_source(source_, problems_);
}

Start UserKernel::start(const Plan& plan) const {
  return Start{options_, plan,    greeting_, options_.kernel, source_,
               error_,   device_, nullptr,   nullptr};
}

}  // namespace kbench
