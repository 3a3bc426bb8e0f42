// The timed window. The order of device calls here is the evaluator contract's: what profilers and
// clocks see depends on it. Judges nothing and does not know what a repeat is for.
#include "worker/timed_window.h"

#include <span>

#include "worker/audits.h"
#include "worker/blame.h"
#include "worker/flush.h"

namespace kbench {

bool TimedWindow::record(Pass pass, bool range) {
  const std::size_t count = static_cast<std::size_t>(calls_of(run_.job(), pass));
  const Flush flush = run_.job().flush;
  const bool each = flush == Flush::cold || flush == Flush::clean;
  const std::size_t stretch = each ? 1 : count;
  bool succeeded = true;
  stretches_ = 0;
  for (std::size_t first = 0; first < count && succeeded; first += stretch) {
    if (first > 0) flush_cache(device_, flush);
    succeeded = record_stretch(pass, first, stretch, range);
  }
  return succeeded;
}

bool TimedWindow::record_stretch(Pass pass, std::size_t first, std::size_t count, bool range) {
  KernelSession& session = run_.session();
  const std::span<const kbench_call> calls = run_.calls();
  const bool audits = pass.stage == Stage::audit;
  if (stretches_ == stopwatches_.size()) stopwatches_.push_back(device_.make_stopwatch());
  Stopwatch& stopwatch = *stopwatches_[stretches_++];
  bool succeeded = true;
  if (range) {
    device_.profiler_start();
    device_.range_push(k_call_name);
  }
  stopwatch.start();
  for (std::size_t j = first; j < first + count && succeeded; ++j) {
    if (audits) run_.bring_input(static_cast<std::int64_t>(j));
    succeeded = session.enqueue(calls[j]);
  }
  stopwatch.stop();
  if (range) {
    device_.range_pop();
    device_.profiler_stop();
  }
  return succeeded;
}

void TimedWindow::record_copies() {
  if (stopwatches_.empty()) stopwatches_.push_back(device_.make_stopwatch());
  stretches_ = 1;
  stopwatches_.front()->start();
  for (std::size_t j = 0; j < run_.calls().size(); ++j) {
    run_.bring_input(static_cast<std::int64_t>(j));
  }
  stopwatches_.front()->stop();
}

double TimedWindow::elapsed_ns() const {
  double sum_ns = 0;
  for (std::size_t k = 0; k < stretches_; ++k) sum_ns += stopwatches_[k]->elapsed_ns();
  return sum_ns;
}

}  // namespace kbench
