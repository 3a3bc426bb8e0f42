// The runner: options in, exit code out. Never touches a device, a plug-in or a matrix.
#pragma once

#include <span>

#include "core/message.h"
#include "core/spec.h"

namespace kbench {

/// What `main` hands to the runner from the rooms that the runner may not know.
struct Wiring {
  std::span<const ProblemInfo* const> problems;
  int (*serve)(int socket);              ///< the worker's entry, for --in-process
  double (*job_memory)(const Job& job);  ///< device bytes that kbench's arrays of a job take
};

/// Parses the command line and does what it says. Never throws; messages go to stderr.
int run(int argc, char** argv, const Wiring& wiring);

}  // namespace kbench
