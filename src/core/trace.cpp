// Turns a tracer's records into figures: which record belongs to which repeat, what is unsound, and
// the sums. Must not know where the records come from nor how the figures are shown.
#include "core/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "core/error.h"
#include "core/stats.h"

namespace kbench {
namespace {

// The tracer converts the device's time to its own by interpolation; more than so far from the
// window of its repeat an activity is in the wrong place.
constexpr std::int64_t k_clock_slack_ns = 1'000'000;

[[noreturn]] void refuse(const std::string& what, const char* advice) {
  throw Error(ExitCode::case_failed, fmt::format("invalid trace ({}); {}", what, advice));
}

bool has_time(const Activity& activity) {
  // A kernel takes time; a memset of a few bytes may begin and end at one tick.
  const bool ordered = activity.kind == ActivityKind::kernel ? activity.end_ns > activity.begin_ns
                                                             : activity.end_ns >= activity.begin_ns;
  return activity.begin_ns > 0 && ordered;
}

void require_sound(const Trace& trace) {
  if (trace.dropped > 0) {
    refuse(fmt::format("CUPTI dropped {} records", trace.dropped),
           "take fewer repeats with `--repeat N` or a smaller case");
  }
  const auto untimed = std::count_if(trace.activities.begin(), trace.activities.end(),
                                     [](const Activity& a) { return !has_time(a); });
  if (untimed > 0) {
    refuse(
        fmt::format("{} of {} records have no valid time stamps", untimed, trace.activities.size()),
        "run again; if it stays so, this CUPTI cannot trace this kernel");
  }
}

/// The repeat whose window holds the time, or none.
std::size_t repeat_at(const Trace& trace, std::int64_t time_ns) {
  const auto after = std::upper_bound(
      trace.repeats.begin(), trace.repeats.end(), time_ns,
      [](std::int64_t time, const TracedRepeat& repeat) { return time < repeat.begin_ns; });
  if (after == trace.repeats.begin()) return trace.repeats.size();
  const auto repeat = after - 1;
  if (time_ns > repeat->end_ns) return trace.repeats.size();
  return static_cast<std::size_t>(repeat - trace.repeats.begin());
}

/// The repeat that the activity's tag names, or none.
std::size_t repeat_of_tag(const Trace& trace, std::uint64_t tag) {
  const auto found =
      std::lower_bound(trace.repeats.begin(), trace.repeats.end(), tag,
                       [](const TracedRepeat& r, std::uint64_t wanted) { return r.tag < wanted; });
  const bool known = found != trace.repeats.end() && found->tag == tag;
  return known ? static_cast<std::size_t>(found - trace.repeats.begin()) : trace.repeats.size();
}

bool is_near(const TracedRepeat& repeat, const Activity& activity) {
  return activity.begin_ns >= repeat.begin_ns - k_clock_slack_ns &&
         activity.end_ns <= repeat.end_ns + k_clock_slack_ns;
}

/// Index of the repeat that an activity belongs to; the number of repeats when to none.
std::size_t owner(const Trace& trace, const Activity& activity) {
  const std::size_t none = trace.repeats.size();
  const std::size_t tagged =
      activity.tag >= k_first_repeat_tag ? repeat_of_tag(trace, activity.tag) : none;
  if (tagged != none && is_near(trace.repeats[tagged], activity)) return tagged;
  // The correlation of graph launches is wrong in some releases; the time tells.
  if (activity.in_graph || activity.tag == k_untagged) return repeat_at(trace, activity.begin_ns);
  if (tagged == none) return none;
  refuse(fmt::format("`{}` was launched in a repeat in whose time it did not run",
                     trace.names[static_cast<std::size_t>(activity.name)]),
         "run again; a clock that was set in between does this");
}

RepeatFigures figures_of(const Trace& trace, const TracedRepeat& repeat,
                         const std::vector<std::size_t>& members) {
  if (members.empty()) {
    refuse(fmt::format("no record of repeat {}", repeat.number),
           "a custom_kernel that launches nothing cannot be traced");
  }
  RepeatFigures figures;
  std::vector<std::array<std::int64_t, 2>> intervals;
  std::int64_t end_ns = 0;
  for (const std::size_t index : members) {
    const Activity& activity = trace.activities[index];
    intervals.push_back({activity.begin_ns, activity.end_ns});
    end_ns = std::max(end_ns, activity.end_ns);
    figures.kernels += activity.kind == ActivityKind::kernel;
    figures.memcpys += activity.kind == ActivityKind::memcpy;
    figures.memsets += activity.kind == ActivityKind::memset;
  }
  figures.event_ns = repeat.event_ns;
  figures.span_ns = static_cast<double>(end_ns - intervals.front()[0]);
  figures.busy_ns = static_cast<double>(union_length(std::move(intervals)));
  figures.gap_ns = figures.span_ns - figures.busy_ns;
  return figures;
}

/// Sums per name and active repeat.
class NameSums {
 public:
  explicit NameSums(std::size_t repeats) : repeats_(repeats) {}

  void add(std::size_t repeat, const Activity& activity) {
    Row& row = rows_[activity.name];
    row.kind = activity.kind;
    row.ns.resize(repeats_);
    row.ns[repeat] += static_cast<double>(activity.end_ns - activity.begin_ns);
    ++row.launches;
  }

  std::vector<KernelFigures> figures(const Trace& trace, double spans_ns) const {
    std::vector<KernelFigures> all;
    for (const auto& [name, row] : rows_) {
      std::vector<double> per_call = row.ns;
      for (double& ns : per_call) ns /= static_cast<double>(trace.calls_per_repeat);
      const Summary summary = summarize(per_call);
      KernelFigures figures;
      figures.name = trace.names[static_cast<std::size_t>(name)];
      figures.kind = row.kind;
      figures.launches = row.launches;
      figures.total_ns = std::accumulate(row.ns.begin(), row.ns.end(), 0.0);
      figures.mean_ns = summary.mean;
      figures.median_ns = summary.median;
      figures.min_ns = summary.best;
      figures.max_ns = summary.worst;
      figures.share = spans_ns > 0 ? figures.total_ns / spans_ns : 0;
      all.push_back(std::move(figures));
    }
    std::sort(all.begin(), all.end(), [](const KernelFigures& a, const KernelFigures& b) {
      return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
    });
    return all;
  }

 private:
  struct Row {
    ActivityKind kind = ActivityKind::kernel;
    std::vector<double> ns;
    std::int64_t launches = 0;
  };
  std::size_t repeats_;
  std::map<std::int32_t, Row> rows_;
};

void warn_of_launches(TraceFigures& figures) {
  const auto launches = [](const RepeatFigures& r) { return r.kernels + r.memcpys + r.memsets; };
  const auto [least, most] = std::minmax_element(
      figures.repeats.begin(), figures.repeats.end(),
      [&](const RepeatFigures& a, const RepeatFigures& b) { return launches(a) < launches(b); });
  if (launches(*least) == launches(*most)) return;
  figures.warnings.push_back(
      fmt::format("the number of launches varies from repeat to repeat ({} to {})",
                  launches(*least), launches(*most)));
}

/// Work that the events do not surround has run on another stream than theirs.
void warn_of_escape(TraceFigures& figures) {
  const auto escaped = std::count_if(figures.repeats.begin(), figures.repeats.end(),
                                     [](const RepeatFigures& r) { return r.event_ns < r.span_ns; });
  if (escaped == 0) return;
  figures.warnings.push_back(fmt::format(
      "the event time is below the span in {} of {} repeats: work ran outside of the events, on "
      "another stream",
      escaped, figures.repeats.size()));
}

void warn_of_untagged(const Trace& trace, const std::vector<std::vector<std::size_t>>& groups,
                      TraceFigures& figures) {
  std::int64_t untagged = 0;
  for (std::size_t r = 0; r < groups.size(); ++r) {
    if (!trace.repeats[r].active) continue;
    untagged += std::count_if(groups[r].begin(), groups[r].end(), [&](std::size_t index) {
      return trace.activities[index].tag != trace.repeats[r].tag;
    });
  }
  if (untagged == 0) return;
  figures.warnings.push_back(
      fmt::format("{} records name no call (launched by other threads, or by graphs) and were "
                  "placed by time",
                  untagged));
}

}  // namespace

std::string_view to_string(ActivityKind kind) {
  constexpr std::array<std::string_view, 3> k_names{"kernel", "memcpy", "memset"};
  return k_names[static_cast<std::size_t>(kind)];
}

std::int64_t union_length(std::vector<std::array<std::int64_t, 2>> intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::int64_t length = 0, covered_to = INT64_MIN;
  for (const auto& [begin, end] : intervals) {
    length += std::max<std::int64_t>(0, end - std::max(begin, covered_to));
    covered_to = std::max(covered_to, end);
  }
  return length;
}

std::vector<std::vector<std::size_t>> attribute(const Trace& trace) {
  require_sound(trace);
  std::vector<std::vector<std::size_t>> groups(trace.repeats.size());
  for (std::size_t i = 0; i < trace.activities.size(); ++i) {
    const std::size_t repeat = owner(trace, trace.activities[i]);
    if (repeat < groups.size()) groups[repeat].push_back(i);
  }
  for (std::vector<std::size_t>& group : groups) {
    std::sort(group.begin(), group.end(), [&](std::size_t a, std::size_t b) {
      return trace.activities[a].begin_ns < trace.activities[b].begin_ns;
    });
  }
  return groups;
}

TraceFigures summarize_trace(const Trace& trace) {
  const auto groups = attribute(trace);
  const auto active = static_cast<std::size_t>(std::count_if(
      trace.repeats.begin(), trace.repeats.end(), [](const auto& r) { return r.active; }));
  TraceFigures figures;
  figures.calls_per_repeat = trace.calls_per_repeat;
  NameSums sums(active);
  for (std::size_t r = 0; r < groups.size(); ++r) {
    if (!trace.repeats[r].active) continue;
    for (const std::size_t index : groups[r]) {
      sums.add(figures.repeats.size(), trace.activities[index]);
    }
    figures.repeats.push_back(figures_of(trace, trace.repeats[r], groups[r]));
  }
  if (figures.repeats.empty()) refuse("no active repeat", "run again");
  double spans_ns = 0;
  for (const RepeatFigures& repeat : figures.repeats) spans_ns += repeat.span_ns;
  figures.kernels = sums.figures(trace, spans_ns);
  warn_of_launches(figures);
  warn_of_escape(figures);
  warn_of_untagged(trace, groups, figures);
  return figures;
}

IdleTime idle_time(const Trace& trace) {
  const TraceFigures figures = summarize_trace(trace);
  const double calls = static_cast<double>(trace.calls_per_repeat);
  return {figures.repeats.front().event_ns / calls, figures.repeats.front().busy_ns / calls};
}

}  // namespace kbench
