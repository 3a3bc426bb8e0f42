// What a run does differently because a tool from outside watches it.
#pragma once

#include <optional>
#include <string>

#include "core/message.h"
#include "core/profilers.h"
#include "runner/options.h"

namespace kbench {

/// The tool that this process's environment gives away; empty when none does.
Profiler present_profiler();

/// Whether a worker is to ask CUPTI who holds it: where it is demanded, and where a tool may be
/// there that the environment does not prove, as far as it would change what is done.
bool asks_cupti(const Options& options);

/// The tool that CUPTI named as its holder in a greeting; empty when it named none.
Profiler profiler_of(const Hello& hello);

/// Why `--cupti on` cannot be had, in words; nothing when it can or was not asked for.
std::optional<std::string> why_no_cupti(const Options& options, const Hello& hello);

/// Why no launch may be held back, in words; empty when it may. A hint that nobody may follow up
/// (`--cupti off`) counts as a tool.
std::string why_not_held_back(const Options& options, const Profiler& profiler);

/// `running under ncu (`X` is set): the figures are not comparable, CUPTI is left alone`.
std::string profiler_line(const Profiler& profiler);

}  // namespace kbench
