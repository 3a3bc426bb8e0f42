// Words for launch costs and queued repeats. Knows no column and no terminal.
#include "runner/table_circumstances.h"

#include <fmt/core.h>

#include "core/stats.h"
#include "core/text.h"
#include "runner/figures.h"

namespace kbench {

std::string launch_costs_text(const LaunchCosts& costs) {
  if (costs.event_pair_ns <= 0) return "";
  return fmt::format("; nothing between two events {}, an empty kernel {} ({} on an idle device)",
                     format_time(costs.event_pair_ns), format_time(costs.empty_kernel_ns),
                     format_time(costs.empty_kernel_idle_ns));
}

std::string queued_text(const QueuedFigures& queued) {
  if (queued.samples_ns.empty()) {
    return fmt::format("queued: no figure ({})", to_one_line(queued.reason));
  }
  const Summary figures = summarize(queued.samples_ns);
  return fmt::format("queued: {} median, {} best of {} ({})", format_time(figures.median),
                     format_time(figures.best), figures.runs,
                     queued.reason.empty() ? "every launch was enqueued before the first began"
                                           : to_one_line(queued.reason));
}

}  // namespace kbench
