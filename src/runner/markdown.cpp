// Results as Markdown, to be pasted into a page or an issue: one table a problem, the figures as
// the terminal shows them. Pure function of the record; writes no file.
#include <fmt/core.h>

#include <cmath>

#include "core/text.h"
#include "runner/comparison.h"
#include "runner/figures.h"
#include "runner/report.h"
#include "runner/table_columns.h"
#include "runner/warnings.h"

namespace kbench {
namespace {

/// Text that stands as it is in a cell of a table.
std::string cell(const std::string& text) {
  std::string escaped;
  for (const char c : to_one_line(text)) {
    if (std::string_view("\\`*_[]<>|~#").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string heading(const RunRecord& record, const CaseRecord& row) {
  std::string text = fmt::format("**{}**: kernel {}", cell(row.spec.problem),
                                 row.kernel.name.empty() ? "unknown" : cell(row.kernel.name));
  if (record.device) {
    text += fmt::format(", device {} ({}), clock {}", to_string(record.device->kind),
                        cell(record.device->name), cell(record.device->clock));
  }
  text += "\n\n| # | case |";
  std::string rule = "\n|---:|:---|";
  if (record.mode->measures) {
    for (const Column& column : figure_columns(!record.baseline.empty())) {
      text += fmt::format(" {} |", column.name);
      rule += "---:|";
    }
  } else {
    text += " result |";
    rule += ":---|";
  }
  return text + rule + '\n';
}

std::string line(const RunRecord& record, std::size_t i) {
  const CaseRecord& row = record.cases[i];
  std::string text = fmt::format("| {} | {} |", i, cell(row.spec.spec));
  if (row.summary) {
    for (const std::string& figure : figure_cells(row, TextStyle{}, !record.baseline.empty()))
      text += " " + figure + " |";
    return text + '\n';
  }
  std::string result = "not run";
  if (row.ended && row.passed) result = "pass: " + cell(row.reply.message);
  if (row.ended && !row.passed) result = "**FAIL**: " + cell(failure_text(row));
  text += " " + result + " |";
  // A row must have as many cells as its heading.
  const std::size_t empty =
      record.mode->measures ? figure_columns(!record.baseline.empty()).size() - 1 : 0;
  for (std::size_t k = 0; k < empty; ++k) text += " |";
  return text + '\n';
}

std::string after_table(const RunRecord& record, const std::string& problem) {
  std::string text = "\n";
  const std::optional<double> mean = problem_geometric_mean(record, problem);
  if (mean && std::isfinite(*mean)) {
    text += fmt::format("Geometric mean of {}: {}", cell(problem), format_time(*mean));
    const std::optional<Ratio> ratio = problem_ratio(record, problem);
    if (ratio) text += fmt::format("; over baseline {}", cell(ratio_text(*ratio)));
    text += "\n\n";
  }
  std::string warnings;
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    const CaseRecord& row = record.cases[i];
    if (row.spec.problem != problem) continue;
    if (!row.resumed_from.empty()) {
      warnings += fmt::format("- case {}: resumed, measured in the run of {}\n", i,
                              to_one_line(row.resumed_from));
    }
    for (const Warning& warning : warnings_of(record, i)) {
      warnings += fmt::format("- case {}: {}\n", i, to_one_line(warning.text));
    }
  }
  return text + (warnings.empty() ? "" : warnings + '\n');
}

}  // namespace

std::string markdown_document(const RunRecord& record) {
  std::string text;
  if (!record.not_comparable.empty()) {
    text += fmt::format("Not comparable: {}\n\n", cell(record.not_comparable));
  }
  if (!record.baseline.empty()) {
    text += fmt::format("Baseline: {} (ratio of medians, below 1 is faster than there)\n\n",
                        cell(record.baseline));
  }
  for (const auto& [key, value] : record.tags)
    text += fmt::format("{}: {}  \n", cell(key), cell(value));
  if (!record.tags.empty()) text += '\n';
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    const std::string& problem = record.cases[i].spec.problem;
    if (i == 0 || record.cases[i - 1].spec.problem != problem)
      text += heading(record, record.cases[i]);
    text += line(record, i);
    const bool last = i + 1 == record.cases.size() || record.cases[i + 1].spec.problem != problem;
    if (last) text += after_table(record, problem);
  }
  return text;
}

}  // namespace kbench
