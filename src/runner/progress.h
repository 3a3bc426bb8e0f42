// What a run is at, for people who wait: one line on a terminal that is drawn anew, lines now and
// then elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/message.h"
#include "runner/report.h"

namespace kbench {

/// Of a case that runs, as its events tell.
struct ProgressState {
  std::string spec, phase;
  std::size_t number = 0, cases = 0;  ///< number: from 1
  std::int64_t step = 0;              ///< inside the phase, from 1; 0: it has no steps
  std::int64_t repeat = 0;            ///< timed repeats so far
  double mean_ns = 0, err_ns = 0;
  double left_s = -1;  ///< of the timed repeats; negative: not known
  std::chrono::steady_clock::time_point repeats_from;
};

/// ` 3/12  batch: 64; n: 32 | repeat 57 | 2.748 us ± 0.004 us | 12 s left`; the case's line is cut
/// so that the whole has fewer than `width` characters (0: whole).
std::string progress_text(const ProgressState& state, std::size_t width);
/// ` 3/12  SPEC | TAIL`, cut in the same way; `tail` may be empty.
std::string progress_text(std::size_t number, std::size_t cases, const std::string& spec,
                          const std::string& tail, std::size_t width);
/// `12 s`, `2:05 min`.
std::string duration_text(double seconds);

enum class ProgressForm {
  line,  ///< one line of a terminal
  lines  ///< a line every ten seconds
};

/// Text on stderr that is drawn anew: one line of a terminal at most ten times a second, or a line
/// every ten seconds.
class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;

  /// `put` takes text for stderr as it is; `now` is the clock.
  ProgressLine(ProgressForm form, std::size_t width, std::function<void(const std::string&)> put,
               std::function<Clock::time_point()> now = Clock::now);

  /// Draws now.
  void draw(const std::string& text);
  /// Draws unless it is too early; `text` gets the width that it must stay below, 0: any.
  void draw_if_due(const std::function<std::string(std::size_t width)>& text);
  /// Takes the line away, before something else is printed.
  void wipe();
  Clock::time_point now() const { return now_(); }

 private:
  ProgressForm form_;
  std::size_t width_;
  std::function<void(const std::string&)> put_;
  std::function<Clock::time_point()> now_;
  Clock::time_point drawn_at_;
  bool drawn_ = false;
};

/// On stderr. Empty when nobody waits for it: with --quiet, or when a program reads the results.
std::optional<ProgressLine> stderr_progress(const Options& options, bool program_reads);

/// Shows the case that was heard of last. Draws when a check begins, which is right after the clock
/// has stopped, and before the first timed repeat; never between the event before a timed repeat
/// and its check.
class ProgressReporter : public Reporter {
 public:
  explicit ProgressReporter(ProgressLine line) : line_(std::move(line)) {}

  void starting(std::size_t cases) override;
  void begin(const RunRecord& record) override;
  void case_begins(const RunRecord& record, std::size_t i) override;
  void progressed(const RunRecord& record, std::size_t i, const Event& event) override;
  void case_ended(const RunRecord& record, std::size_t i) override;
  void end(const RunRecord& record) override;

 private:
  void draw_if_due(const ProgressState& state);

  ProgressLine line_;
  std::map<std::size_t, ProgressState> states_;  // of the cases that run, by number
};

/// Null when nobody waits for it, as stderr_progress.
std::unique_ptr<Reporter> make_progress_reporter(const Options& options, bool program_reads);

}  // namespace kbench
