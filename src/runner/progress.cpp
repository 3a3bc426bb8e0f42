// Turns events into the progress line. Knows no worker; writes nothing while a kernel is being
// timed, since a terminal that scrolls costs the machine something.
#include "runner/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/text.h"
#include "runner/figures.h"

namespace kbench {
namespace {

constexpr std::chrono::milliseconds k_between_drawings(100);
constexpr std::chrono::seconds k_between_lines(10);
constexpr const char* k_wipe = "\r\x1b[K";

/// Between these events and the check that follows the kernel is timed, or believes to be.
bool is_timed(const std::string& phase) { return phase == "repeat" || phase == "audit"; }

std::string phase_of(const ProgressState& state) {
  if (state.repeat > 0) return fmt::format("repeat {}", state.repeat);
  const std::string phase = shorten(to_one_line(state.phase), 40);
  return state.step > 0 ? fmt::format("{} {}", phase, state.step) : phase;
}

/// `text` cut to `width` characters, the last three of them dots.
std::string cut(const std::string& text, std::size_t width) {
  if (width_of(text) <= width) return text;
  std::size_t bytes = text.size();
  std::string shorter = text;
  while (width_of(shorter) > width && bytes > 3) shorter = shorten(text, --bytes);
  return shorter;
}

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", std::max(seconds, 1.0));
  const auto whole = static_cast<long>(seconds);
  return fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

std::string progress_text(std::size_t number, std::size_t cases, const std::string& spec,
                          const std::string& tail, std::size_t width) {
  const std::string lead = fmt::format("{}/{}  ", number, cases);
  const std::string end = tail.empty() ? "" : " | " + tail;
  std::string line = to_one_line(spec);
  if (width > 0) {
    const std::size_t taken = width_of(lead) + width_of(end) + 1;
    line = cut(line, std::max<std::size_t>(taken < width ? width - taken : 0, 3));
  }
  return lead + line + end;
}

std::string progress_text(const ProgressState& state, std::size_t width) {
  const bool silent = state.phase.empty() && state.repeat == 0;
  std::string tail = silent ? "" : phase_of(state);
  if (state.repeat > 0) tail += " | " + format_mean(state.mean_ns, state.err_ns);
  if (state.repeat > 0 && state.left_s >= 0) tail += " | " + duration_text(state.left_s) + " left";
  return progress_text(state.number, state.cases, state.spec, tail, width);
}

ProgressLine::ProgressLine(ProgressForm form, std::size_t width,
                           std::function<void(const std::string&)> put,
                           std::function<Clock::time_point()> now)
    : form_(form), width_(width), put_(std::move(put)), now_(std::move(now)), drawn_at_(now_()) {}

void ProgressLine::draw(const std::string& text) {
  put_(form_ == ProgressForm::line ? k_wipe + text : text + '\n');
  drawn_ = form_ == ProgressForm::line;
  drawn_at_ = now_();
}

void ProgressLine::draw_if_due(const std::function<std::string(std::size_t)>& text) {
  const Clock::duration since = now_() - drawn_at_;
  const bool early =
      form_ == ProgressForm::line ? drawn_ && since < k_between_drawings : since < k_between_lines;
  if (!early) draw(text(form_ == ProgressForm::line ? width_ : 0));
}

void ProgressLine::wipe() {
  if (drawn_) put_(k_wipe);
  drawn_ = false;
}

void ProgressReporter::draw_if_due(const ProgressState& state) {
  line_.draw_if_due([&state](std::size_t width) { return progress_text(state, width); });
}

void ProgressReporter::starting(std::size_t cases) {
  line_.draw(
      fmt::format("{} case{}: kernel and device are being prepared", cases, cases == 1 ? "" : "s"));
}

void ProgressReporter::begin(const RunRecord&) { line_.wipe(); }

void ProgressReporter::case_begins(const RunRecord& record, std::size_t i) {
  ProgressState state;
  state.spec = record.cases[i].spec.spec;
  state.number = i + 1;
  state.cases = record.cases.size();
  draw_if_due(states_[i] = state);
}

void ProgressReporter::progressed(const RunRecord& record, std::size_t i, const Event& event) {
  const auto found = states_.find(i);
  if (found == states_.end()) return;
  ProgressState& state = found->second;
  const bool timed = is_timed(event.phase);
  const bool kernel_runs = !event.what.empty();
  if (event.phase == "repeat" && kernel_runs && event.repeat == 1) state.repeats_from = line_.now();
  if (event.phase == "repeat" && !kernel_runs) {
    state.repeat = event.repeat;
    state.mean_ns = event.mean_ns;
    state.err_ns = event.err_ns;
    const double wall_s = std::chrono::duration<double>(line_.now() - state.repeats_from).count();
    const auto runs = static_cast<double>(event.repeat);
    const double wanted = record.exact_repeats > 0
                              ? static_cast<double>(record.exact_repeats)
                              : expected_repeats(record.mode->limits, event.repeat, event.mean_ns,
                                                 event.err_ns, wall_s);
    state.left_s = std::max(wanted - runs, 0.0) * wall_s / runs;
  }
  // A check belongs to the phase whose outputs it checks.
  if (!timed && event.phase != "check") {
    state.phase = event.phase;
    state.step = event.repeat;
  }
  // The event behind a repeat comes with the next one close behind it; the check leaves more time.
  if (!timed) draw_if_due(state);
}

void ProgressReporter::case_ended(const RunRecord&, std::size_t i) {
  states_.erase(i);
  line_.wipe();
}

void ProgressReporter::end(const RunRecord&) { line_.wipe(); }

std::optional<ProgressLine> stderr_progress(const Options& options, bool program_reads) {
  if (options.quiet || program_reads) return std::nullopt;
  const ProgressForm form = is_terminal(STDERR_FILENO) ? ProgressForm::line : ProgressForm::lines;
  return ProgressLine(form, text_style(STDERR_FILENO, ColorChoice::never).width,
                      [](const std::string& text) {
                        std::fwrite(text.data(), 1, text.size(), stderr);
                        std::fflush(stderr);
                      });
}

std::unique_ptr<Reporter> make_progress_reporter(const Options& options, bool program_reads) {
  auto line = stderr_progress(options, program_reads);
  if (!line) return nullptr;
  return std::make_unique<ProgressReporter>(std::move(*line));
}

}  // namespace kbench
