// Finds task files, plug-ins and the header relative to the executable, so that a tree can be
// moved. Opens no plug-in: that is the worker's business.
#include "runner/paths.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "core/error.h"

namespace kbench {
namespace {

namespace fs = std::filesystem;

fs::path tree() { return fs::path(executable_path()).parent_path().parent_path(); }

/// The first folder that exists: `<prefix>/lib/kbench/kernels` installed, `<build>/kernels` else.
fs::path plugin_folder() {
  const fs::path installed = tree() / "lib/kbench/kernels";
  std::error_code error;
  return fs::is_directory(installed, error) ? installed : tree() / "kernels";
}

}  // namespace

std::string executable_path() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    throw Error(ExitCode::usage, fmt::format("cannot find the own executable (/proc/self/exe: {}); "
                                             "mount /proc",
                                             error.message()));
  }
  return path.string();
}

std::string header_folder() {
  const fs::path installed = tree() / "include/kbench";
  std::error_code error;
  return fs::is_regular_file(installed / "kbench_kernel.h", error) ? installed.string()
                                                                   : KBENCH_HEADER_DIR;
}

std::string shipped_task_file(const std::string& problem) {
  std::error_code error;
  for (const fs::path& folder : {tree() / "share/kbench/specs", fs::path(KBENCH_SPEC_DIR)}) {
    const fs::path file = folder / (problem + ".yaml");
    if (fs::is_regular_file(file, error)) return file.string();
  }
  return "";
}

std::vector<PluginFile> shipped_plugins() {
  std::vector<PluginFile> plugins;
  std::error_code error;
  for (const auto& problem : fs::directory_iterator(plugin_folder(), error)) {
    if (!problem.is_directory(error)) continue;
    for (const auto& file : fs::directory_iterator(problem.path(), error)) {
      if (file.path().extension() != ".so") continue;
      plugins.push_back(
          {problem.path().filename().string(), file.path().stem().string(), file.path().string()});
    }
  }
  std::sort(plugins.begin(), plugins.end(), [](const PluginFile& a, const PluginFile& b) {
    return std::tie(a.problem, a.name) < std::tie(b.problem, b.name);
  });
  return plugins;
}

std::string find_plugin(const std::string& problem, const std::string& name) {
  const fs::path path = plugin_folder() / problem / (name + ".so");
  std::error_code error;
  return fs::is_regular_file(path, error) ? path.string() : "";
}

}  // namespace kbench
