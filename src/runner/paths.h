// Where the shipped files lie, in a build tree and in an installed one, and which plug-ins there
// are.
#pragma once

#include <string>
#include <vector>

namespace kbench {

/// Path of this executable. Throws Error(usage) when /proc does not tell.
std::string executable_path();

/// Folder of kbench_kernel.h: `<prefix>/include/kbench` installed, the source tree's `kernels`
/// else.
std::string header_folder();

/// Path of the shipped task file of a problem; empty when there is none.
std::string shipped_task_file(const std::string& problem);

struct PluginFile {
  std::string problem;
  std::string name;
  std::string path;
};

/// Every shipped plug-in `<problem>/<name>.so`, sorted by problem and name.
std::vector<PluginFile> shipped_plugins();

/// Path of the shipped plug-in, empty when there is none.
std::string find_plugin(const std::string& problem, const std::string& name);

}  // namespace kbench
