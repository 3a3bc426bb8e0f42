// The table of warnings: one row for each thing that a single figure would hide. Pure functions of
// the record; the tests for it are in core/distribution.h.
#include "runner/warnings.h"

#include <fmt/core.h>

#include <cmath>
#include <optional>
#include <span>

#include "core/clocks.h"
#include "core/distribution.h"
#include "runner/figures.h"

namespace kbench {
namespace {

constexpr std::size_t k_few = 20;

using Text = std::optional<std::string>;

std::span<const double> samples_of(const CaseRecord& row) { return row.reply.samples_ns; }

/// What longer warm-up this run could have had.
std::string longer_warm_up(const RunRecord& record) {
  if (!record.warm_up) return "leave out `--no-warmup`";
  if (record.mode->warm_up == WarmUp::every_case) return "run it again on an idle machine";
  return "try `kbench leaderboard`, which warms up every case";
}

Text slow_start(const RunRecord& record, const CaseRecord& row) {
  const auto factor = slow_first(samples_of(row));
  if (!factor) return std::nullopt;
  return fmt::format(
      "the first repeat took {:.2g} times the median of the others (lazy loading, first touch or "
      "clocks still rising); {}",
      *factor, longer_warm_up(record));
}

Text far_samples(const RunRecord&, const CaseRecord& row) {
  const auto found = outliers(samples_of(row));
  // The upper one of two groups is far away too, and is named as a group.
  if (found.empty() || two_modes(samples_of(row))) return std::nullopt;
  return fmt::format(
      "{} of {} repeats {} far from the median and kept, the slowest took {} (other work on the "
      "machine or a change of clocks); idle the machine, or see them with `--json`",
      found.size(), row.reply.samples_ns.size(), found.size() == 1 ? "is" : "are",
      format_time(row.summary->worst));
}

Text modes_of(const RunRecord&, const CaseRecord& row) {
  const auto modes = two_modes(samples_of(row));
  if (!modes) return std::nullopt;
  return fmt::format(
      "repeats fall into two groups, around {} and, {:.0f} %, around {} (two clock states, or a "
      "time that depends on the data); `--fresh-inputs off` keeps the data the same",
      format_time(modes->low), 100 * modes->high_share, format_time(modes->high));
}

Text moving(const RunRecord& record, const CaseRecord& row) {
  const auto change = drift(samples_of(row));
  if (!change) return std::nullopt;
  return fmt::format("repeats became {:.2g} % {} from the first to the last ({}); {}",
                     100 * std::abs(*change), *change > 0 ? "slower" : "faster",
                     *change > 0 ? "heating, or clocks going down" : "clocks still rising",
                     longer_warm_up(record));
}

Text too_few(const RunRecord&, const CaseRecord& row) {
  const std::size_t count = row.reply.samples_ns.size();
  if (count >= k_few) return std::nullopt;
  const bool none = !row.distribution || !row.distribution->median_95;
  return fmt::format("only {} repeat{} (stopped: {}){}; `--repeats {}` takes more", count,
                     count == 1 ? "" : "s", to_string(row.reply.stop),
                     none ? ", too few for an interval of the median" : "", 2 * k_few);
}

Text costly_events(const RunRecord&, const CaseRecord& row) {
  constexpr double k_share = 0.05;
  const double nothing_ns = row.reply.launch_costs.event_pair_ns;
  const double repeat_ns = row.summary->median * static_cast<double>(row.reply.calls_per_repeat);
  if (nothing_ns <= k_share * repeat_ns) return std::nullopt;
  return fmt::format(
      "two events with nothing between them show {} already, {:.0f} % of a repeat (the calls are "
      "short); `--launch queued` shows how much the launches add",
      format_time(nothing_ns), 100 * nothing_ns / repeat_ns);
}

// No failure: the results are right, and a run whose memory lasts is as good as another.
Text leaking(const RunRecord&, const CaseRecord& row) {
  constexpr double k_kib = 1024;
  const double bytes = row.reply.leaked_bytes_per_call.value_or(0);
  if (bytes <= 0) return std::nullopt;
  const bool cuda = row.kernel.device == DeviceKind::cuda;
  return fmt::format(
      "each call leaves {:.4g} KiB of {} memory behind ({}); free it before the call returns, or "
      "take it once in `create`",
      bytes / k_kib, cuda ? "device" : "host",
      cuda ? "what is free shrinks from repeat to repeat, unless another process takes it"
           : "what malloc has given out grows from repeat to repeat");
}

struct Row {
  std::string_view kind;
  Text (*text)(const RunRecord& record, const CaseRecord& row);
};

constexpr Row k_warnings[] = {
    {"slow first repeat", slow_start},
    {"outliers", far_samples},
    {"two modes", modes_of},
    {"drift", moving},
    {"few repeats", too_few},
    {"event cost", costly_events},
    {"leak", leaking},
};

}  // namespace

std::vector<Warning> warnings_of(const RunRecord& record, std::size_t i) {
  std::vector<Warning> warnings;
  const CaseRecord& row = record.cases[i];
  if (!row.summary) return warnings;
  for (const Row& entry : k_warnings) {
    if (const Text text = entry.text(record, row)) warnings.push_back({entry.kind, *text});
  }
  for (const std::string& text : clock_warnings(row.reply.clocks)) {
    warnings.push_back({"clocks", text});
  }
  return warnings;
}

}  // namespace kbench
