// Runs a program to its end and keeps what it said. The program and all that it started end with
// this process, whatever ends this process.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace kbench {

struct Command {
  std::vector<std::string> argv;  ///< argv[0] is the path of the executable; no shell is involved
  /// Variables set on top of this process's environment.
  std::vector<std::pair<std::string, std::string>> environment;
  double time_limit_s = 0;              ///< 0: none
  std::function<bool()> cancelled;      ///< asked about 20 times a second; may be empty
  std::size_t output_limit = 16 << 20;  ///< bytes; what comes after them is dropped, and this said
};

struct CommandResult {
  enum class End { exited, signalled, timed_out, cancelled } end = End::exited;
  int status = 0;      ///< exit status, or signal number
  std::string output;  ///< stdout and stderr as they came, any bytes

  bool succeeded() const { return end == End::exited && status == 0; }
};

/// Stdin is empty, the working directory is ours. A program that cannot be started exits with 127
/// and its output says why. Throws Error(usage) when the system has no process or descriptor left.
CommandResult run_command(const Command& command);

/// `exit status 1`, `killed by SIGSEGV`, `time limit of 300 s`, `interrupted`.
std::string describe_end(const CommandResult& result, double time_limit_s);

}  // namespace kbench
