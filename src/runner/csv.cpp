// Results as comma-separated values (RFC 4180): a heading, then one line a case. Pure function of
// the record; writes no file.
#include <fmt/core.h>

#include <cmath>
#include <optional>

#include "core/text.h"
#include "runner/figures.h"
#include "runner/report.h"
#include "runner/trace.h"
#include "runner/warnings.h"

namespace kbench {
namespace {

/// One line a field; quoted where a reader would take it for more than one.
std::string field(const std::string& text) {
  const std::string line = to_one_line(text);
  if (line.find_first_of(",\"\n\r") == std::string::npos) return line;
  std::string quoted = "\"";
  for (const char c : line) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

/// All digits; empty for what is not known.
std::string number(std::optional<double> value) { return value ? fmt::format("{}", *value) : ""; }

/// What one cell is a function of.
struct At {
  const RunRecord& record;
  const CaseRecord& row;
  std::size_t i;
};

std::string summary_figure(const At& at, double Summary::*figure) {
  return at.row.summary ? number((*at.row.summary).*figure) : "";
}

std::string quantile_figure(const At& at, double Distribution::*figure) {
  return at.row.distribution ? number((*at.row.distribution).*figure) : "";
}

std::string interval_end(const At& at, double Interval::*end) {
  const bool known = at.row.distribution && at.row.distribution->median_95;
  return known ? number((*at.row.distribution->median_95).*end) : "";
}

std::string baseline_figure(const At& at, double Interval::*end) {
  const std::optional<Ratio>& ratio = at.row.over_baseline;
  return ratio && ratio->interval ? number((*ratio->interval).*end) : "";
}

std::string warning_kinds(const At& at) {
  std::string kinds;
  for (const Warning& warning : warnings_of(at.record, at.i)) {
    kinds.append(kinds.empty() ? "" : "; ").append(warning.kind);
  }
  return kinds;
}

struct CsvColumn {
  const char* name;
  std::string (*text)(const At& at);
};

constexpr CsvColumn k_columns[] = {
    {"index", [](const At& at) { return std::to_string(at.i); }},
    {"case_index", [](const At& at) { return std::to_string(at.row.case_index); }},
    {"problem", [](const At& at) { return at.row.spec.problem; }},
    {"batch", [](const At& at) { return std::to_string(at.row.spec.batch); }},
    {"n", [](const At& at) { return std::to_string(at.row.spec.n); }},
    {"cond", [](const At& at) { return std::to_string(at.row.spec.cond); }},
    {"seed", [](const At& at) { return std::to_string(at.row.spec.seed); }},
    {"case", [](const At& at) { return at.row.spec.kind; }},
    {"spec", [](const At& at) { return at.row.spec.spec; }},
    {"kernel", [](const At& at) { return at.row.kernel.name; }},
    {"device", [](const At& at) { return at.record.device ? at.record.device->name : ""; }},
    {"status", [](const At& at) { return std::string(status_of(at.row)); }},
    {"median_ns", [](const At& at) { return summary_figure(at, &Summary::median); }},
    {"median_low_ns", [](const At& at) { return interval_end(at, &Interval::low); }},
    {"median_high_ns", [](const At& at) { return interval_end(at, &Interval::high); }},
    {"mean_ns", [](const At& at) { return summary_figure(at, &Summary::mean); }},
    {"std_ns", [](const At& at) { return summary_figure(at, &Summary::std); }},
    {"err_ns", [](const At& at) { return summary_figure(at, &Summary::err); }},
    {"min_ns", [](const At& at) { return summary_figure(at, &Summary::best); }},
    {"p10_ns", [](const At& at) { return quantile_figure(at, &Distribution::p10); }},
    {"p90_ns", [](const At& at) { return quantile_figure(at, &Distribution::p90); }},
    {"max_ns", [](const At& at) { return summary_figure(at, &Summary::worst); }},
    {"runs",
     [](const At& at) { return at.row.summary ? std::to_string(at.row.summary->runs) : ""; }},
    {"stop", [](const At& at) { return std::string(to_string(at.row.reply.stop)); }},
    {"tflop_per_s", [](const At& at) { return number(tflop_per_s(at.row)); }},
    {"gb_per_s", [](const At& at) { return number(gb_per_s(at.row)); }},
    {"floor_share", [](const At& at) { return number(floor_share(at.row)); }},
    {"idle_share", [](const At& at) { return number(idle_share(at.row.reply)); }},
    {"worst_of_gate", [](const At& at) { return number(at.row.reply.worst_of_gate); }},
    {"worst_gate", [](const At& at) { return at.row.reply.worst_gate; }},
    {"wall_s", [](const At& at) { return number(at.row.wall_s); }},
    {"over_baseline",
     [](const At& at) {
       return at.row.over_baseline ? number(at.row.over_baseline->value) : std::string();
     }},
    {"over_baseline_low", [](const At& at) { return baseline_figure(at, &Interval::low); }},
    {"over_baseline_high", [](const At& at) { return baseline_figure(at, &Interval::high); }},
    {"resumed_from", [](const At& at) { return at.row.resumed_from; }},
    {"warnings", warning_kinds},
    {"error",
     [](const At& at) {
       return at.row.ended && !at.row.passed ? failure_text(at.row) : std::string();
     }},
};

}  // namespace

std::string csv_document(const RunRecord& record) {
  std::string text;
  for (const CsvColumn& column : k_columns)
    text.append(text.empty() ? "" : ",").append(column.name);
  for (const auto& [key, value] : record.tags) text += ",tag." + field(key);
  text += '\n';
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    const At at{record, record.cases[i], i};
    std::string line;
    for (const CsvColumn& column : k_columns) {
      if (&column != &k_columns[0]) line += ',';
      line += field(column.text(at));
    }
    for (const auto& [key, value] : record.tags) line += ',' + field(value);
    text += line + '\n';
  }
  return text;
}

}  // namespace kbench
