// What this kbench knows, in plain columns or as JSON: problems, cases, kernels, devices. Loads no
// plug-in.
#include <fmt/core.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/defaults.h"
#include "core/text.h"
#include "runner/commands.h"
#include "runner/json_circumstances.h"
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

Hello ask_for_devices(const Options& options, Session& session) {
  Setup setup;
  setup.device = options.device;
  setup.list_devices = true;
  Hello hello = greet(session, setup);
  session.finish();
  return hello;
}

void list_devices(const Options& options, Session& session) {
  const Hello hello = ask_for_devices(options, session);
  for (const DeviceInfo& device : hello.devices) {
    put(fmt::format("{:<10} {}, {:.1f} GiB\n", device_label(device.kind, device.index),
                    to_one_line(device.name),
                    static_cast<double>(device.memory_bytes) / (1 << 30)));
  }
}

using Json = nlohmann::ordered_json;

bool wanted(const Options& options, std::string_view problem) {
  return options.problem.empty() || problem == options.problem;
}

Json problems_json(const Options& options, Problems problems) {
  Json list = Json::array();
  for (const ProblemInfo* problem : problems) {
    if (!wanted(options, problem->name)) continue;
    list.push_back(
        {{"name", problem->name}, {"summary", problem->summary}, {"cases", problem->cases}});
  }
  return list;
}

Json kernels_json(const Options& options) {
  Json list = Json::array();
  for (const PluginFile& plugin : shipped_plugins()) {
    if (!wanted(options, plugin.problem)) continue;
    Json defaults = Json::array();
    for (DeviceKind device : {DeviceKind::cuda, DeviceKind::host}) {
      if (default_kernel(plugin.problem, device) == plugin.name) {
        defaults.push_back(to_string(device));
      }
    }
    list.push_back({{"problem", to_valid_utf8(plugin.problem)},
                    {"name", to_valid_utf8(plugin.name)},
                    {"path", to_valid_utf8(plugin.path)},
                    {"default_on", defaults}});
  }
  return list;
}

/// The document `kbench.list/1`: the sections asked for; cases stand with their problem.
void list_as_json(const Options& options, Problems problems, Session& session) {
  const std::string& what = options.file;
  Json json = {{"schema", "kbench.list/1"}};
  if (what.empty() || what == "problems" || what == "cases") {
    json["problems"] = problems_json(options, problems);
  }
  if (what.empty() || what == "kernels") json["kernels"] = kernels_json(options);
  if (what.empty() || what == "devices") {
    json["devices"] = Json::array();
    for (const DeviceInfo& device : ask_for_devices(options, session).devices) {
      json["devices"].push_back(device_json(device));
    }
  }
  put(json.dump(1) + '\n');
}

}  // namespace

ExitCode list(const Options& options, Problems problems, Session& session) {
  if (!options.problem.empty()) find_problem_info(problems, options.problem);
  if (options.list_json) {
    list_as_json(options, problems, session);
    std::fflush(stdout);
    return ExitCode::ok;
  }
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
