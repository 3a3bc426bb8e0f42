// Sorts the arguments of `kbench compare` into kernels and a case file, and finds the kernel that
// says which problem is meant. Opens no file and starts nothing.
#include "runner/compare_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "core/text.h"
#include "runner/document_file.h"
#include "runner/paths.h"
#include "runner/toolchain.h"

namespace kbench {
namespace {

bool is_plugin_name(const std::string& word) {
  const std::vector<PluginFile> plugins = shipped_plugins();
  return std::any_of(plugins.begin(), plugins.end(),
                     [&](const PluginFile& plugin) { return plugin.name == word; });
}

/// A case file may have any name, also one with a `/`; a kernel is known by its ending or its name.
bool names_kernel(const std::string& word) {
  return std::filesystem::path(word).extension() == ".so" || is_source_path(word) ||
         is_plugin_name(word);
}

}  // namespace

Options compare_options(const Options& asked) {
  Options options = asked;
  options.mode = find_mode("benchmark");
  const std::string& last = options.words.back();
  std::error_code error;
  if (options.words.size() == 2 && !names_kernel(last) &&
      std::filesystem::is_regular_file(last, error)) {
    throw Error(
        ExitCode::usage,
        fmt::format("`kbench compare` needs two kernels or more (`{}` is a file of cases, "
                    "no kernel); name another, as in `kbench compare lapack my.cpp shape.txt`",
                    to_one_line(last)));
  }
  if (!names_kernel(last) && options.words.size() > 2) {
    options.file = options.words.back();
    options.words.pop_back();
  }
  for (const std::string& read : {options.file, options.input}) {
    require_other_file("--json", options.json, read, "case file or input");
  }
  for (const std::string& kernel : options.words) {
    require_other_file("--json", options.json, kernel, "kernel");
  }
  if (!options.input.empty() && !options.file.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("`--input {}` and FILE `{}` exclude each other; leave one out",
                            options.input, options.file));
  }
  return options;
}

std::size_t telling_kernel(const Options& options, Problems problems) {
  std::size_t telling = 0;
  std::ptrdiff_t fewest = std::numeric_limits<std::ptrdiff_t>::max();
  for (std::size_t k = 0; k < options.words.size(); ++k) {
    const std::string& kernel = options.words[k];
    if (is_kernel_path(kernel)) return k;
    const std::ptrdiff_t solved =
        std::count_if(problems.begin(), problems.end(), [&](const ProblemInfo* problem) {
          return !find_plugin(std::string(problem->name), kernel).empty();
        });
    if (solved < fewest) telling = k;
    fewest = std::min(fewest, solved);
  }
  return telling;
}

void require_kernels_of_plan(const Options& options, const Plan& plan) {
  for (const PlannedCase& planned : plan.cases) {
    for (const std::string& kernel : options.words) {
      if (is_kernel_path(kernel) || !find_plugin(planned.spec.problem, kernel).empty()) continue;
      throw Error(ExitCode::usage,
                  fmt::format("no kernel `{}` for problem {} (the cases need it); see `kbench list "
                              "kernels` and choose with `--problem`",
                              to_one_line(kernel), planned.spec.problem));
    }
  }
}

}  // namespace kbench
