// Compiles one kernel source and shows what its GPU functions take. Runs no kernel; a device is
// asked for nothing but its architecture.
#include <fmt/core.h>

#include <cstdio>

#include "core/text.h"
#include "runner/commands.h"
#include "runner/ptxas.h"
#include "runner/say.h"
#include "runner/user_kernel.h"

namespace kbench {
namespace {

void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

/// The capability of the device that a run would take; empty (9.0) where `--device auto` finds none
/// and with `--device host`.
std::string ask_architecture(const Options& options, Session& session) {
  if (options.device.kind == DeviceRequest::Kind::host) return "";
  Setup setup;
  setup.device = options.device;
  auto answer = session.set_up(setup);
  const auto* hello = std::get_if<Hello>(&answer);
  std::string why = hello == nullptr ? std::get<Failure>(answer).words : hello->error;
  session.finish();
  if (why.empty() && hello->device && hello->device->kind == DeviceKind::cuda) {
    return hello->device->capability;
  }
  if (options.device.kind == DeviceRequest::Kind::cuda) {
    throw Error(ExitCode::device, why.empty() ? "the worker named no device" : why);
  }
  say(fmt::format("building for compute capability 9.0 ({})",
                  why.empty() ? "no CUDA device to ask" : to_one_line(why)));
  return "";
}

void print_resources(const std::vector<KernelResources>& kernels) {
  if (kernels.empty()) return put("no GPU kernel in this file\n");
  constexpr const char* k_row = "{:>9}  {:>12}  {:>11}  {:>12}  {:>11}  {:<8}  {}\n";
  put(fmt::format(k_row, "registers", "shared bytes", "stack bytes", "spill stores", "spill loads",
                  "arch", "kernel"));
  for (const KernelResources& kernel : kernels) {
    put(fmt::format(k_row, kernel.registers, kernel.shared_bytes, kernel.stack_bytes,
                    kernel.spill_store_bytes, kernel.spill_load_bytes, kernel.architecture,
                    to_one_line(kernel.name)));
  }
}

}  // namespace

ExitCode build(const Options& options, Session& session, Watch& watch) {
  watch.limit(options.time_limit_s);
  check_source(options.file);
  const bool cuda = source_language(options.file) == SourceLanguage::cuda;
  const std::string capability = cuda ? ask_architecture(options, session) : std::string();
  const CompileResult result = compile_kernel(options.file, options, capability, watch);
  if (!result.ok) return ExitCode::case_failed;
  if (cuda) print_resources(parse_ptxas(result.output));
  put(result.library + '\n');
  std::fflush(stdout);
  return ExitCode::ok;
}

}  // namespace kbench
