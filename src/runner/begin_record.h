// The record of a run before its first case.
#pragma once

#include <span>
#include <string>

#include "runner/profiler.h"
#include "runner/record.h"
#include "runner/run_cases.h"

namespace kbench {

/// Machine, time, options and every case of the plan, none begun. Says on stderr which profiler
/// this process's environment gives away.
RunRecord begin_record(const Start& start, std::span<const Place> places);

/// Adds one circumstance under which the figures are no ranking.
void add_reason(RunRecord& record, const std::string& reason);

/// A tool watches the run, told by the environment or later by the worker whose device is open.
/// The first one is noted and said on stderr; one without a name is none.
void note_profiler(RunRecord& record, const Options& options, const Profiler& profiler);

/// Places whose workers share a device, or the cores of a machine, disturb each other: a reason.
void mark_shared_devices(RunRecord& record);

}  // namespace kbench
