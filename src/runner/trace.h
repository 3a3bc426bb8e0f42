// The verb `trace`: what is asked of a worker, why there can be no trace, and how one looks.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/message.h"
#include "runner/options.h"
#include "runner/plan.h"
#include "runner/record.h"

namespace kbench {

/// A profiler shows itself in the environment: says on stderr which and that nothing is traced.
bool yields_to_profiler();

/// Why a worker cannot trace. ExitCode::ok: another tool has CUPTI, which is no failure.
struct NoTrace {
  ExitCode code;
  std::string words;
};
std::optional<NoTrace> why_no_trace(const Hello& hello);

/// Makes `job` a trace job for case i of the plan. Where several cases are traced the number of
/// each stands in the name of its Chrome trace.
void request_trace(const Options& options, const Plan& plan, std::size_t i, Job& job);

/// The lines below the line of a traced case, no wider than `width` where that is not 0.
std::string trace_text(const CaseRecord& row, std::size_t width);
/// The object `trace` of docs/results.md; null for a case that was not traced.
nlohmann::ordered_json trace_json(const Reply& reply);
/// The object `idle` of docs/results.md.
nlohmann::ordered_json idle_json(const Reply& reply);

/// Share of the event time in which nothing ran on the device; empty when it is not known.
std::optional<double> idle_share(const Reply& reply);

}  // namespace kbench
