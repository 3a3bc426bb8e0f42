// Writes a starting kernel where the user wants it and says how to go on. Knows no kernel text.
#include <fmt/core.h>

#include <cstdio>

#include "core/text.h"
#include "runner/commands.h"
#include "runner/starter.h"
#include "runner/toolchain.h"

namespace kbench {

ExitCode new_kernel(const Options& options) {
  write_starter(options.problem, options.file);
  const std::string file = shell_text({options.file});
  const std::string line =
      fmt::format("wrote {} ({}, right and slow); check it with `kbench test --kernel {}`\n",
                  to_one_line(options.file), options.problem, to_one_line(file));
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
  return ExitCode::ok;
}

}  // namespace kbench
