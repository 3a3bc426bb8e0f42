// What this kbench knows, in plain columns: problems, cases, kernels, devices. Loads no plug-in.
#include <fmt/core.h>

#include <cstdio>

#include "core/defaults.h"
#include "core/text.h"
#include "runner/commands.h"
#include "runner/paths.h"

namespace kbench {
namespace {

void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void list_problems(const Options& options, Problems problems) {
  for (const ProblemInfo* problem : problems) {
    if (!options.problem.empty() && problem->name != options.problem) continue;
    put(fmt::format("{:<10} {}\n", problem->name, problem->summary));
  }
}

void list_cases(const Options& options, Problems problems) {
  for (const ProblemInfo* problem : problems) {
    if (!options.problem.empty() && problem->name != options.problem) continue;
    for (std::string_view name : problem->cases) {
      put(fmt::format("{:<10} {}\n", problem->name, name));
    }
  }
}

void list_kernels(const Options& options) {
  for (const PluginFile& plugin : shipped_plugins()) {
    if (!options.problem.empty() && plugin.problem != options.problem) continue;
    std::string defaults;
    for (DeviceKind device : {DeviceKind::cuda, DeviceKind::host}) {
      if (default_kernel(plugin.problem, device) == plugin.name) {
        defaults += fmt::format(" (default on {})", to_string(device));
      }
    }
    put(fmt::format("{:<10} {:<14} {}{}\n", to_one_line(plugin.problem), to_one_line(plugin.name),
                    to_one_line(plugin.path), defaults));
  }
}

void list_devices(const Options& options, Session& session) {
  Setup setup;
  setup.device = options.device;
  setup.list_devices = true;
  const Hello hello = greet(session, setup);
  for (const DeviceInfo& device : hello.devices) {
    put(fmt::format("{:<10} {}, {:.1f} GiB\n", device_label(device.kind, device.index),
                    to_one_line(device.name),
                    static_cast<double>(device.memory_bytes) / (1 << 30)));
  }
  session.finish();
}

}  // namespace

ExitCode list(const Options& options, Problems problems, Session& session) {
  if (!options.problem.empty()) find_problem_info(problems, options.problem);
  const std::string& what = options.file;
  const auto section = [&](std::string_view name) {
    if (what.empty()) put(fmt::format("{}{}:\n", name == "problems" ? "" : "\n", name));
    return what.empty() || what == name;
  };
  if (section("problems")) list_problems(options, problems);
  if (section("cases")) list_cases(options, problems);
  if (section("kernels")) list_kernels(options);
  if (section("devices")) list_devices(options, session);
  std::fflush(stdout);
  return ExitCode::ok;
}

}  // namespace kbench
