// What a device did during the repeats of a case, as a tracer recorded it, and the figures that
// follow. Pure: knows no tracer, no device and no clock. All times are nanoseconds of one clock
// whose zero means nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kbench {

enum class ActivityKind { kernel, memcpy, memset };
std::string_view to_string(ActivityKind kind);

/// Tags say what an activity was launched for. The calls of a repeat carry a tag of their own.
constexpr std::uint64_t k_untagged = 0;   ///< by a thread of the plug-in's own
constexpr std::uint64_t k_own_tag = 1;    ///< kbench's own work
constexpr std::uint64_t k_flush_tag = 2;  ///< the cache flush in front of a call
constexpr std::uint64_t k_first_repeat_tag = 16;

/// One thing that the device did.
struct Activity {
  ActivityKind kind = ActivityKind::kernel;
  std::int32_t name = 0;  ///< index into Trace::names
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint32_t device = 0, stream = 0;
  std::uint64_t tag = k_untagged;
  bool in_graph = false;   ///< launched by a graph: its tag is a hint, not a proof
  std::int64_t bytes = 0;  ///< of a copy or a memset
  std::array<std::int32_t, 3> grid{}, block{};
  std::int32_t registers = 0, shared_bytes = 0;
};

/// One repeat: what lies between two waits for the device.
struct TracedRepeat {
  std::int64_t number = 0;  ///< from 1 in its window; 0: the window's warm-up
  bool active = false;      ///< counts: of the last window, and no warm-up
  std::uint64_t tag = 0;
  std::int64_t begin_ns = 0;                          ///< idle device, before the flush
  std::int64_t end_ns = 0;                            ///< idle again
  std::int64_t range_begin_ns = 0, range_end_ns = 0;  ///< the host's NVTX range `custom_kernel`
  double event_ns = 0;  ///< of all calls, by the device's clock, with tracing on
};

struct Trace {
  std::vector<std::string> names;  ///< demangled, each once
  std::vector<Activity> activities;
  std::vector<TracedRepeat> repeats;  ///< in order of time, their tags rising
  std::int64_t calls_per_repeat = 1;
  std::int64_t dropped = 0;  ///< records that the tracer lost
};

/// One kernel, or kind of copy, over all active repeats. Times are of all its launches in one
/// custom_kernel call together.
struct KernelFigures {
  std::string name;  ///< demangled, whole
  ActivityKind kind = ActivityKind::kernel;
  std::int64_t launches = 0;
  double total_ns = 0;
  double mean_ns = 0, median_ns = 0, min_ns = 0, max_ns = 0;  ///< per call, over repeats
  double share = 0;  ///< total over the sum of all spans; more than 1 in sum where kernels overlap
};

/// One active repeat, all its calls together.
struct RepeatFigures {
  double event_ns = 0;  ///< with tracing on
  double span_ns = 0;   ///< from the first begin to the last end
  double busy_ns = 0;   ///< something ran: the union of all intervals
  double gap_ns = 0;    ///< span - busy
  std::int64_t kernels = 0, memcpys = 0, memsets = 0;
};

/// What the runner is told of a traced case.
struct TraceFigures {
  std::int64_t calls_per_repeat = 1;
  std::vector<RepeatFigures> repeats;
  std::vector<KernelFigures> kernels;  ///< by falling total
  std::int64_t other_names = 0;        ///< kernels that no filter selected, and their total
  double other_ns = 0;
  std::vector<double> untraced_event_ns;  ///< per call, one a repeat of the pass without tracing
  double overhead = 0;  ///< median event time with tracing over that without, less 1
  std::vector<std::string> warnings;
  std::string chrome_trace;  ///< path written, or empty
};

/// The times of an idle share: how long nothing ran between the events of a call.
struct IdleTime {
  double event_ns = 0;  ///< per call, with tracing on
  double busy_ns = 0;   ///< per call
};

/// Activities of each repeat, as indices in order of begin; what belongs to no repeat's calls is
/// left out. Throws Error(case_failed) when the records are not sound: dropped or without a time
/// stamp, or tags and time stamps that contradict each other.
std::vector<std::vector<std::size_t>> attribute(const Trace& trace);

/// Figures of the active repeats; the filters' (kernel_names.h) are left to the caller. Throws
/// Error(case_failed) as attribute does, and when an active repeat has no record at all.
TraceFigures summarize_trace(const Trace& trace);

/// Of the only active repeat of a trace. Throws as summarize_trace.
IdleTime idle_time(const Trace& trace);

/// Length of the union of [begin, end) intervals, which may come in any order.
std::int64_t union_length(std::vector<std::array<std::int64_t, 2>> intervals);

}  // namespace kbench
