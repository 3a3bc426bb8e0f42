// What --kernel means: the name of a shipped plug-in, or the path of one or of a source.
// Opens no plug-in and compiles nothing.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/text.h"
#include "runner/paths.h"
#include "runner/plan.h"
#include "runner/toolchain.h"
#include "runner/user_kernel.h"

namespace kbench {
namespace {

namespace fs = std::filesystem;

void check_path(const std::string& path) {
  if (is_source_path(path)) return check_source(path);
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw Error(ExitCode::usage, fmt::format("no kernel plug-in at `{}` ({}); check the path",
                                             to_one_line(path), std::strerror(ENOENT)));
  }
  if (!fs::is_regular_file(path, error) || access(path.c_str(), R_OK) != 0) {
    throw Error(ExitCode::usage,
                fmt::format("`{}` is no readable file (a kernel plug-in is a shared object); check "
                            "the path",
                            to_one_line(path)));
  }
}

}  // namespace

bool is_kernel_path(const std::string& kernel) {
  if (kernel.find('/') != std::string::npos) return true;
  return fs::path(kernel).extension() == ".so" || is_source_path(kernel);
}

void check_kernel(const Options& options, Problems problems) {
  if (options.kernel.empty()) return;
  if (is_kernel_path(options.kernel)) return check_path(options.kernel);
  std::vector<std::string> known;
  bool found = false;
  const std::vector<PluginFile> plugins = shipped_plugins();
  std::vector<std::string_view> names;
  for (const PluginFile& plugin : plugins) {
    const bool in_question =
        std::any_of(problems.begin(), problems.end(), [&](const ProblemInfo* problem) {
          return problem->name == plugin.problem &&
                 (options.problem.empty() || options.problem == plugin.problem);
        });
    if (!in_question) continue;
    found = found || plugin.name == options.kernel;
    known.push_back(fmt::format("{} ({})", plugin.name, plugin.problem));
    names.push_back(plugin.name);
  }
  if (found) return;
  const std::string_view near = did_you_mean(options.kernel, names);
  throw Error(
      ExitCode::usage,
      fmt::format("unknown kernel `{}`{}; {}known: {}", to_one_line(options.kernel),
                  options.problem.empty() ? "" : fmt::format(" (problem {})", options.problem),
                  near.empty() ? "" : fmt::format("did you mean `{}`? ", near),
                  known.empty() ? "none, build the kernels first"
                                : fmt::format("{}", fmt::join(known, ", "))));
}

}  // namespace kbench
