// The real kbench, run to its end.
#pragma once

#include <string>
#include <vector>

#include "runner/command.h"
#include "runner_compile/support.h"

namespace kbench::test {

/// KBENCH_PROGRAM with `words`; its cache is in the folder.
inline CommandResult kbench_run(const TempFolder& folder, const std::vector<std::string>& words) {
  Command command;
  command.argv = {KBENCH_PROGRAM};
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  command.environment = {{"XDG_CACHE_HOME", (folder / "cache").string()}};
  command.time_limit_s = 200;
  return run_command(command);
}

inline std::string shape_file(const TempFolder& folder) {
  return write(folder / "shape.txt", "batch: 3; n: 16; cond: 1; seed: 5\n");
}

}  // namespace kbench::test
