// Which plug-in a case runs, as far as it is known without opening one.
#include "runner/case_kernels.h"

#include <fmt/core.h>

#include <filesystem>
#include <map>

#include "core/defaults.h"
#include "runner/paths.h"
#include "runner/resume.h"

namespace kbench {

std::string kernel_path(const Start& start, const RunRecord& record, const std::string& problem) {
  const Options& options = start.options;
  if (is_kernel_path(options.kernel)) return options.kernel;
  std::string name = options.kernel;
  if (name.empty() && record.device) name = default_kernel(problem, record.device->kind);
  return name.empty() ? "" : find_plugin(problem, name);
}

std::string kernel_name(const Start& start, const std::string& path) {
  return std::filesystem::path(start.source.empty() ? path : start.source).stem().string();
}

void require_kernels(const Start& start, RunRecord& record) {
  const std::string& asked = start.options.kernel;
  std::map<std::string, std::string> digests;  // by path
  for (CaseRecord& row : record.cases) {
    if (!row.kernel.name.empty()) continue;
    const std::string path = kernel_path(start, record, row.spec.problem);
    if (path.empty()) {
      const std::string device(record.device ? to_string(record.device->kind) : "any device");
      throw Error(
          ExitCode::usage,
          fmt::format("no kernel{} for problem {} on {} (no such plug-in is shipped); see "
                      "`kbench list kernels` and choose with `--kernel`",
                      asked.empty() ? "" : fmt::format(" `{}`", asked), row.spec.problem, device));
    }
    row.kernel.path = path;
    row.kernel.name = kernel_name(start, path);
    row.kernel.problem = row.spec.problem;
    if (digests.count(path) == 0) digests[path] = file_sha256(path);
    row.kernel_sha256 = digests[path];
    if (record.device) row.kernel.device = record.device->kind;
  }
}

}  // namespace kbench
