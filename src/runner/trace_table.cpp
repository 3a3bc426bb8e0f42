// A traced case as text and as JSON. Pure functions of the reply: writes nothing.
#include <fmt/core.h>

#include <algorithm>

#include "core/kernel_names.h"
#include "core/stats.h"
#include "core/text.h"
#include "runner/figures.h"
#include "runner/json_values.h"
#include "runner/trace.h"

namespace kbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t k_indent = 4, k_most_rows = 30, k_least_name = 24;
constexpr const char* k_row = "{:>10} {:>6} {:>9} {:>10} {:>10} {:>10} {:>10}  {}\n";
constexpr std::size_t k_before_name = k_indent + 10 + 7 + 10 + 4 * 11 + 2;

template <class Get>
double median_of(const TraceFigures& trace, Get get) {
  std::vector<double> values;
  for (const RepeatFigures& repeat : trace.repeats) {
    values.push_back(get(repeat) / static_cast<double>(trace.calls_per_repeat));
  }
  return values.empty() ? 0 : summarize(values).median;
}

std::string indented(const std::string& text) { return std::string(k_indent, ' ') + text; }

std::string line(const char* name, double ns, const std::string& remark) {
  return indented(fmt::format("{:<10} {:>10}  {}\n", name, format_time(ns), remark));
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

/// `12 kernels, 1 copy, 2 memsets`, as they are in the median repeat.
std::string launches(const TraceFigures& trace) {
  const auto count = [&](auto get) {
    return fmt::format("{:.4g}", median_of(trace, [&](const RepeatFigures& r) {
                         return static_cast<double>(get(r));
                       }));
  };
  return fmt::format("{} kernels, {} copies, {} memsets",
                     count([](const RepeatFigures& r) { return r.kernels; }),
                     count([](const RepeatFigures& r) { return r.memcpys; }),
                     count([](const RepeatFigures& r) { return r.memsets; }));
}

/// By the counts that the problem, or the plug-in, states for a call; empty where there are none.
std::string rates(const CaseRecord& row, double event_ns) {
  if (!(event_ns > 0) || (row.flops <= 0 && row.bytes <= 0)) return "";
  std::string remark;
  if (row.flops > 0) remark = fmt::format("{:.4g} TFLOP/s", row.flops / event_ns * 1e-3);
  if (row.bytes > 0) {
    remark += fmt::format("{}{:.4g} GB/s", remark.empty() ? "" : ", ", row.bytes / event_ns);
  }
  return indented(
      fmt::format("{:<21}  {}, by the event time and the stated counts\n", "rate", remark));
}

/// A copy's name is no C++ name.
std::string shown_name(const KernelFigures& k, std::size_t room) {
  return k.kind == ActivityKind::kernel ? short_name(k.name, room) : shorten(k.name, room);
}

std::string kernel_rows(const TraceFigures& trace, std::size_t width) {
  const double calls = static_cast<double>(trace.calls_per_repeat) *
                       static_cast<double>(std::max<std::size_t>(trace.repeats.size(), 1));
  const std::size_t room = width > k_before_name + k_least_name ? width - k_before_name : 60;
  std::string text = indented(fmt::format(k_row, "total", "share", "launches", "mean", "median",
                                          "min", "max", "kernel (times and launches per call)"));
  const std::size_t shown = std::min(trace.kernels.size(), k_most_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    const KernelFigures& k = trace.kernels[i];
    text += indented(
        fmt::format(k_row, format_time(k.total_ns), fmt::format("{:.1f}%", 100 * k.share),
                    fmt::format("{:.4g}", static_cast<double>(k.launches) / calls),
                    format_time(k.mean_ns), format_time(k.median_ns), format_time(k.min_ns),
                    format_time(k.max_ns), to_one_line(shown_name(k, room))));
  }
  if (shown < trace.kernels.size()) {
    text += indented(fmt::format("{} more; all are in the JSON\n", trace.kernels.size() - shown));
  }
  if (trace.other_names > 0) {
    text += indented(fmt::format("{:>10} in {} kernels that no `--name` selects\n",
                                 format_time(trace.other_ns), trace.other_names));
  }
  return text;
}

Json kernels_json(const TraceFigures& trace) {
  Json kernels = Json::array();
  for (const KernelFigures& k : trace.kernels) {
    kernels.push_back({{"name", json_text(k.name)},
                       {"kind", to_string(k.kind)},
                       {"launches", k.launches},
                       {"total_ns", json_number(k.total_ns)},
                       {"mean_ns", json_number(k.mean_ns)},
                       {"median_ns", json_number(k.median_ns)},
                       {"min_ns", json_number(k.min_ns)},
                       {"max_ns", json_number(k.max_ns)},
                       {"share", json_number(k.share)}});
  }
  return kernels;
}

Json repeats_json(const TraceFigures& trace) {
  Json repeats = Json::array();
  for (const RepeatFigures& r : trace.repeats) {
    repeats.push_back({{"event_ns", json_number(r.event_ns)},
                       {"span_ns", json_number(r.span_ns)},
                       {"busy_ns", json_number(r.busy_ns)},
                       {"gap_ns", json_number(r.gap_ns)},
                       {"kernels", r.kernels},
                       {"memcpys", r.memcpys},
                       {"memsets", r.memsets}});
  }
  return repeats;
}

}  // namespace

std::optional<double> idle_share(const Reply& reply) {
  double event_ns = 0, busy_ns = 0;
  if (reply.trace) {
    event_ns = median_of(*reply.trace, [](const RepeatFigures& r) { return r.event_ns; });
    busy_ns = median_of(*reply.trace, [](const RepeatFigures& r) { return r.busy_ns; });
  } else if (reply.idle) {
    event_ns = reply.idle->event_ns;
    busy_ns = reply.idle->busy_ns;
  }
  if (!(event_ns > 0)) return std::nullopt;
  return std::max(0.0, 1 - busy_ns / event_ns);
}

std::string trace_text(const CaseRecord& row, std::size_t width) {
  const TraceFigures& trace = *row.reply.trace;
  const double untraced_ns =
      trace.untraced_event_ns.empty() ? 0 : summarize(trace.untraced_event_ns).median;
  const double event_ns = median_of(trace, [](const RepeatFigures& r) { return r.event_ns; });
  std::string text = fmt::format("traced, {} repeats of {} call{}{}\n", trace.repeats.size(),
                                 trace.calls_per_repeat, trace.calls_per_repeat == 1 ? "" : "s",
                                 row.reply.message == "not checked" ? ", not checked" : "");
  text += line("event", untraced_ns,
               fmt::format("per call, without tracing; with it {} ({:+.1f} %)",
                           format_time(event_ns), 100 * trace.overhead));
  text += line("span", median_of(trace, [](const RepeatFigures& r) { return r.span_ns; }),
               launches(trace));
  text += line("busy", median_of(trace, [](const RepeatFigures& r) { return r.busy_ns; }),
               fmt::format("nothing ran in {} of the event time",
                           percent(idle_share(row.reply).value_or(0))));
  text += rates(row, untraced_ns);
  text += kernel_rows(trace, width);
  for (const std::string& warning : trace.warnings) {
    text += indented(fmt::format("warning: {}\n", to_one_line(warning)));
  }
  if (!trace.chrome_trace.empty()) {
    text += indented(fmt::format("Chrome trace: {}\n", to_one_line(trace.chrome_trace)));
  }
  return text;
}

Json trace_json(const Reply& reply) {
  if (!reply.trace) return nullptr;
  const TraceFigures& trace = *reply.trace;
  Json untraced = Json::array(), warnings = Json::array();
  for (const double ns : trace.untraced_event_ns) untraced.push_back(json_number(ns));
  for (const std::string& warning : trace.warnings) warnings.push_back(json_text(warning));
  Json json = {{"calls_per_repeat", trace.calls_per_repeat},
               {"untraced_event_ns", untraced},
               {"overhead", json_number(trace.overhead)}};
  json["repeats"] = repeats_json(trace);
  json["kernels"] = kernels_json(trace);
  json["other_kernels"] = {{"count", trace.other_names}, {"total_ns", json_number(trace.other_ns)}};
  json["warnings"] = warnings;
  json["chrome_trace"] = trace.chrome_trace.empty() ? Json(nullptr) : json_text(trace.chrome_trace);
  return json;
}

Json idle_json(const Reply& reply) {
  const std::optional<double> share = idle_share(reply);
  Json json = {{"share", share ? json_number(*share) : Json(nullptr)}};
  json["event_ns"] = reply.idle ? json_number(reply.idle->event_ns) : Json(nullptr);
  json["busy_ns"] = reply.idle ? json_number(reply.idle->busy_ns) : Json(nullptr);
  json["unknown"] = reply.idle_unknown.empty() ? Json(nullptr) : json_text(reply.idle_unknown);
  return json;
}

}  // namespace kbench
