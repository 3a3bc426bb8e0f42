// One side of a comparison: its plug-in, its worker, its turns. Knows nothing of the other sides
// and of what their times mean.
#include "runner/compare_arm.h"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <utility>

#include "core/text.h"
#include "runner/nonce.h"
#include "runner/paths.h"
#include "runner/say.h"
#include "runner/toolchain.h"

namespace kbench {

Arm::Arm(const Options& options, Problems problems, const Session::Start& start, Watch& watch)
    : options_(options),
      session_(start, watch),
      kernel_(options_, problems, session_, watch),
      source_(is_source_path(options.kernel) ? options.kernel : "") {
  info_.name = std::filesystem::path(options.kernel).stem().string();
}

void Arm::build(const Plan& plan) {
  kernel_.build();
  const Start start = kernel_.start(plan);
  options_.kernel = start.options.kernel;
  options_.device = start.options.device;
  kernel_error_ = start.kernel_error;
  greeting_ = start.greeting;
  device_ = start.device;
}

std::string Arm::path_for(const std::string& problem) const {
  return is_kernel_path(options_.kernel) ? options_.kernel : find_plugin(problem, options_.kernel);
}

std::optional<std::string> Arm::accept(const Hello& hello, const std::string& problem) {
  if (!hello.error.empty()) return hello.error;
  if (!hello.device) return "the worker named no device";
  device_ = hello.device;
  if (!hello.kernel) return "the worker did not describe the kernel";
  info_ = *hello.kernel;
  if (info_.problem == problem && info_.device == device_->kind) return std::nullopt;
  return fmt::format(
      "kernel `{}` is for problem {} on {}, not for {} on {}; compare it with kernels of its kind",
      to_one_line(info_.path), to_one_line(info_.problem), to_string(info_.device), problem,
      to_string(device_->kind));
}

std::optional<std::string> Arm::be_ready(const std::string& problem, bool must) {
  if (!kernel_error_.empty()) return kernel_error_;
  if (session_.has_worker() && problem_ == problem && !greeting_) return std::nullopt;
  std::optional<Hello> hello = std::exchange(greeting_, std::nullopt);
  if (!hello || !session_.has_worker()) {
    Setup setup;
    setup.device = options_.device;
    setup.kernel_path = path_for(problem);
    setup.lock = options_.lock;
    setup.call_timeout_s = options_.call_timeout_s;
    auto answer = session_.set_up(setup);
    if (auto* failure = std::get_if<Failure>(&answer)) return failure->words;
    hello = std::get<Hello>(std::move(answer));
    if (!hello->note.empty()) say(to_one_line(hello->note));
  }
  problem_ = problem;
  const std::optional<std::string> words = accept(*hello, problem);
  if (!words) return std::nullopt;
  session_.end();
  // A source that makes no plug-in is a failed case, as one that does not compile.
  const bool by_source = hello->code == ExitCode::usage && !source_.empty();
  if (must && !by_source && hello->code != ExitCode::case_failed) {
    throw Error(hello->code == ExitCode::ok ? ExitCode::usage : hello->code, *words);
  }
  return name_source(*words, options_.kernel, source_);
}

std::optional<double> Arm::take(std::variant<Ready, Reply, Failure> answer) {
  waits_ = false;
  if (auto* ready = std::get_if<Ready>(&answer)) {
    waits_ = true;
    return ready->sample_ns;
  }
  if (auto* reply = std::get_if<Reply>(&answer)) {
    reply_ = std::move(*reply);
    if (reply_.worker_unusable) session_.end();
    if (reply_.kernel) info_ = *reply_.kernel;
    if (!reply_.passed) error_ = reply_.error.empty() ? "failed" : reply_.error;
    if (!reply_.passed && reply_.fresh_inputs == "on") error_ += nonce_advice(nonce_);
    return std::nullopt;
  }
  error_ = std::get<Failure>(answer).words;
  return std::nullopt;
}

std::optional<std::string> Arm::begin(const Job& job) {
  error_.clear();
  reply_ = Reply{};
  nonce_ = job.nonce;
  Job own = job;
  own.kernel_path = path_for(job.spec.problem);
  if (take(session_.begin(std::move(own)))) return std::nullopt;
  if (error_.empty()) error_ = "the worker ended the case before its first turn";
  return error_;
}

std::optional<double> Arm::turn() {
  const std::optional<double> sample_ns = take(session_.give_turn(true));
  if (sample_ns && std::isfinite(*sample_ns) && *sample_ns > 0) return sample_ns;
  if (error_.empty()) {
    error_ = sample_ns ? fmt::format("no sound time ({} ns)", *sample_ns)
                       : "the worker ended the case before its last turn";
  }
  return std::nullopt;
}

const Reply& Arm::conclude() {
  if (waits_) {
    const std::string before = error_;
    take(session_.give_turn(false));
    if (!before.empty()) error_ = before;
    if (waits_) {
      error_ = "worker's channel was disturbed (it waits for a turn after the last one)";
      session_.end();
      waits_ = false;
    }
  }
  return reply_;
}

}  // namespace kbench
