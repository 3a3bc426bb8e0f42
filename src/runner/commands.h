// The verbs beside the modes.
#pragma once

#include <string>

#include "runner/options.h"
#include "runner/plan.h"
#include "runner/session.h"
#include "runner/watch.h"

namespace kbench {

/// `kbench list`: plain columns on stdout. Starts a worker only to list devices.
ExitCode list(const Options& options, Problems problems, Session& session);

/// `kbench generate`: one line on stdout for each input. A case that fails says so on stderr.
ExitCode generate(const Options& options, const Plan& plan, Session& session, Watch& watch);

/// `kbench new`: writes the starting kernel of a problem and says so on stdout.
ExitCode new_kernel(const Options& options);

/// `kbench build`: compiles one source. Stdout has a line for each GPU kernel and, last, the path
/// of the plug-in. A worker is started only to ask for the architecture.
ExitCode build(const Options& options, Session& session, Watch& watch);

/// `kbench profile-command`: the command line that shows one case to nsys or ncu, on stdout as one
/// line that a shell can run. Starts nothing. Throws Error.
ExitCode profile_command(const Options& options, Problems problems);
/// `kbench compare` of two kernels or more: a line a case on stdout. `start` starts their workers.
ExitCode compare(const Options& options, Problems problems, const Session::Start& start,
                 Watch& watch);

/// Completion scripts and the manual page, from the tables of verbs and flags.
std::string bash_completion();
std::string zsh_completion();
std::string man_page();

/// `kbench compare` of two results documents. Starts nothing.
ExitCode compare_files(const Options& options, Watch& watch);

/// `kbench report`: a page of HTML from results documents. Starts nothing.
ExitCode report(const Options& options, Problems problems, Watch& watch);

/// Sets a worker up for work without a kernel. Throws Error when there is none or no device.
Hello greet(Session& session, const Setup& setup);

}  // namespace kbench
