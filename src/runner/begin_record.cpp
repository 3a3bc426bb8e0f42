// What of a run is known before its first case, and the circumstances that take the rank from its
// figures. Starts nothing and asks no worker.
#include "runner/begin_record.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "runner/case_job.h"
#include "runner/case_kernels.h"
#include "runner/say.h"

namespace kbench {
namespace {

CaseRecord begin_case(const Start& start, const PlannedCase& planned) {
  CaseRecord row;
  row.spec = planned.spec;
  row.case_index = planned.case_index;
  row.flops = planned.flops;
  row.bytes = planned.bytes;
  if (!start.kernel_error.empty()) {
    row.kernel.name = kernel_name(start, "");
    row.kernel.problem = row.spec.problem;
    if (start.device) row.kernel.device = start.device->kind;
  }
  return row;
}

PlaceRecord begin_place(const Place& given, const DeviceRequest& asked) {
  PlaceRecord place;
  place.rank = given.rank;
  place.host = given.host;
  place.asked = asked;
  place.name = place_name(place);
  return place;
}

}  // namespace

void add_reason(RunRecord& record, const std::string& reason) {
  record.not_comparable += (record.not_comparable.empty() ? "" : "; ") + reason;
}

void note_profiler(RunRecord& record, const Options& options, const Profiler& profiler) {
  if (profiler.tool.empty() || !record.profiler.empty()) return;
  record.profiler = profiler.tool;
  add_reason(record, fmt::format("run under {}", profiler.tool));
  record.why_not_queued = why_not_held_back(options, profiler);
  std::string line = profiler_line(profiler);
  // ncu replays each kernel many times: one repeat is what a user of it wants to see.
  if (record.mode->measures && profiler.tool == "ncu") {
    record.warm_up = false;
    if (options.repeats == 0) record.exact_repeats = 1;
    line += fmt::format("; {} timed repeat{}, no warm-up (change with `--repeats N`)",
                        record.exact_repeats, record.exact_repeats == 1 ? "" : "s");
  }
  say(line);
}

RunRecord begin_record(const Start& start, std::span<const Place> places) {
  const Options& options = start.options;
  RunRecord record;
  record.mode = &*options.mode;
  record.device = start.device;
  record.machine = describe_machine();
  record.started = utc_now();
  record.command_line = options.command_line;
  record.tags = options.tags;
  if (!start.source.empty()) {
    std::error_code error;
    record.kernel_source =
        std::filesystem::absolute(start.source, error).lexically_normal().string();
    record.nvcc_flags = options.nvcc_flags;
  }
  record.baseline = options.baseline;
  record.exact_repeats = options.repeats;
  record.warm_up = !options.no_warmup;
  record.range = options.range;
  record.why_not_queued = why_not_held_back(options, {});
  note_profiler(record, options, present_profiler());
  if (options.repeats > 0) add_reason(record, fmt::format("--repeats {}", options.repeats));
  if (!options.input.empty()) add_reason(record, "--input");
  const Flush flush = flush_of(options);
  if (record.mode->measures && flush != Flush::once) {
    add_reason(record, fmt::format("--flush {}", to_string(flush)));
  }
  if (options.together) {
    add_reason(record, fmt::format("--together (the slowest of {} workers counts)", places.size()));
  }
  for (const PlannedCase& planned : start.plan.cases) {
    record.cases.push_back(begin_case(start, planned));
  }
  for (const Place& given : places) record.places.push_back(begin_place(given, given.device));
  // By now it may be known which one that is.
  record.places.front() = begin_place(places.front(), options.device);
  return record;
}

void mark_shared_devices(RunRecord& record) {
  std::map<std::string, int> users;
  int most = 0;
  for (const PlaceRecord& place : record.places) {
    if (place.device) most = std::max(most, ++users[place.host + '/' + place.device->uuid]);
  }
  if (most > 1) add_reason(record, fmt::format("{} workers share a device", most));
}

}  // namespace kbench
