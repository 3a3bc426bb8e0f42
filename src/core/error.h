// Exit codes and the one exception type of kbench.
//
// A wrong answer of a kernel is a value (problems/problem.h, Verdict). A failure to do the job is
// an `Error`. Messages read `<what> (<why or where>); <what to do>`, values in backquotes.
#pragma once

#include <stdexcept>
#include <string>

namespace kbench {

/// Process exit status, as the evaluator contract fixes it. 114 belongs to the calling runner.
enum class ExitCode : int {
  ok = 0,             ///< ran, every case passed
  usage = 2,          ///< wrong command line, or an output could not be written
  device = 110,       ///< no usable device, or the device failed before any case
  popcorn_fd = 111,   ///< POPCORN_FD is set and unusable
  case_failed = 112,  ///< ran, at least one case failed
  case_file = 113,    ///< the case file is missing, unreadable or wrong
};

/// A failure to do the job. Caught in `main` and in the worker's `serve`, nowhere else.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace kbench

/// A broken invariant of our own: prints condition, file and line, and aborts.
#define KBENCH_ASSERT(condition) \
  ((condition) ? void(0) : ::kbench::assertion_failed(#condition, __FILE__, __LINE__))
