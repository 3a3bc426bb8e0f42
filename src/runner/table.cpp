// The readable table on stdout: one case after the other, printed as it ends, whatever text a
// kernel or a spec line brings. Knows no descriptor but stdout.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/text.h"
#include "runner/comparison.h"
#include "runner/figures.h"
#include "runner/report.h"
#include "runner/table_circumstances.h"
#include "runner/table_columns.h"
#include "runner/trace.h"
#include "runner/warnings.h"

namespace kbench {
namespace {

constexpr std::size_t k_widest_spec = 72;  // that other rows make room for
constexpr std::size_t k_longest_spec = 400;
constexpr std::size_t k_narrow_text = 60;  // words that have less room go below the case's line
constexpr std::size_t k_indent = 4;

std::string spec_text(const CaseRecord& row) {
  return shorten(to_one_line(row.spec.spec), k_longest_spec);
}

/// The case's line, and where the text beside it begins.
std::string lead(const TableLayout& layout, const std::string& number, const std::string& place,
                 const std::string& spec) {
  std::string text = pad_left(number, layout.number_width) + "  ";
  if (layout.place_width > 0) text += pad(place, layout.place_width) + "  ";
  return text + (layout.beside ? pad(spec, layout.spec_width) + "  " : spec + '\n');
}

std::string place_text(const RunRecord& record, std::size_t i) {
  const std::optional<std::size_t>& place = record.cases[i].place;
  return place ? record.places[*place].name : "-";
}

std::size_t text_column(const TableLayout& layout) {
  const std::size_t place = layout.place_width > 0 ? layout.place_width + 2 : 0;
  return layout.beside ? layout.number_width + 2 + place + layout.spec_width + 2 : k_indent;
}

/// `FAIL  reason` or `pass  message`, beside the case's line or below it.
std::string judgement(const TableLayout& layout, Paint how, const char* word,
                      const std::string& reason) {
  const std::size_t column = text_column(layout);
  std::string text = layout.beside ? "" : std::string(column, ' ');
  text += paint(layout.style, how, word) + "  ";
  return text + wrap(to_one_line(reason), column + 6, layout.style.width) + '\n';
}

std::string warning_lines(const RunRecord& record, std::size_t i, const TableLayout& layout) {
  constexpr std::string_view k_word = "warning:";
  std::string text;
  for (const Warning& warning : warnings_of(record, i)) {
    text += std::string(k_indent, ' ') + paint(layout.style, Paint::yellow, k_word) + ' ' +
            wrap(warning.text, k_indent + k_word.size() + 1, layout.style.width) + '\n';
  }
  return text;
}

class TableReporter : public Reporter {
 public:
  explicit TableReporter(ColorChoice color) : style_(text_style(STDOUT_FILENO, color)) {}

  void begin(const RunRecord& record) override {
    layout_ = table_layout(record, style_);
    if (!record.profiler.empty()) put(fmt::format("profiler: {}\n", record.profiler));
    if (!record.not_comparable.empty()) {
      put(fmt::format("not comparable: {}\n", to_one_line(record.not_comparable)));
    }
    if (!record.baseline.empty()) {
      put(fmt::format("baseline: {} (ratio of medians, below 1 is faster than there)\n",
                      to_one_line(record.baseline)));
    }
  }
  void case_ended(const RunRecord& record, std::size_t i) override {
    put(table_heading(record, i, layout_) + table_row(record, i, layout_));
  }
  void end(const RunRecord& record) override { put(table_footer(record, layout_)); }

 private:
  static void put(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  TextStyle style_;
  TableLayout layout_;
};

}  // namespace

TableLayout table_layout(const RunRecord& record, const TextStyle& style) {
  TableLayout layout;
  layout.style = style;
  layout.number_width = std::to_string(record.cases.size()).size() + 1;
  if (record.places.size() > 1) layout.place_width = std::string_view("device").size();
  for (const PlaceRecord& place : record.places) {
    if (layout.place_width > 0) {
      layout.place_width = std::max(layout.place_width, width_of(place.name));
    }
  }
  for (const CaseRecord& row : record.cases) {
    layout.spec_width =
        std::max(layout.spec_width, std::min(width_of(spec_text(row)), k_widest_spec));
  }
  const std::size_t room =
      record.mode->measures ? figure_width(!record.baseline.empty()) : k_narrow_text;
  layout.beside = style.width == 0 || text_column(layout) + room <= style.width;
  return layout;
}

std::string table_heading(const RunRecord& record, std::size_t i, const TableLayout& layout) {
  const CaseRecord& row = record.cases[i];
  if (i > 0 && record.cases[i - 1].spec.problem == row.spec.problem) return "";
  std::string text = fmt::format(
      "{}{}: kernel {}", i == 0 ? "" : "\n", paint(layout.style, Paint::bold, row.spec.problem),
      row.kernel.name.empty() ? "unknown" : to_one_line(row.kernel.name));
  if (record.device) {
    text += fmt::format(", device {} ({}), clock {}",
                        device_label(record.device->kind, record.device->index),
                        to_one_line(record.device->name), to_one_line(record.device->clock)) +
            launch_costs_text(row.reply.launch_costs);
  }
  text += '\n';
  std::string columns = lead(layout, "#", "device", "case");
  if (!layout.beside) columns.append(k_indent, ' ');
  if (record.mode->measures) {
    std::vector<std::string> names;
    for (const Column& column : figure_columns(!record.baseline.empty()))
      names.emplace_back(column.name);
    columns += flow(in_columns(std::move(names)), text_column(layout), layout.style.width);
  } else {
    columns += "result";
  }
  return text + paint(layout.style, Paint::dim, columns) + '\n';
}

std::string table_row(const RunRecord& record, std::size_t i, const TableLayout& layout) {
  const CaseRecord& row = record.cases[i];
  std::string text = lead(layout, std::to_string(i), place_text(record, i), spec_text(row));
  if (!row.passed) return text + judgement(layout, Paint::red, "FAIL", failure_text(row));
  if (row.reply.trace) return text + trace_text(row, layout.style.width);
  if (!row.summary) return text + judgement(layout, Paint::green, "pass", row.reply.message);
  if (!layout.beside) text.append(k_indent, ' ');
  text += flow(in_columns(figure_cells(row, layout.style, !record.baseline.empty())),
               text_column(layout), layout.style.width) +
          '\n';
  if (row.together) {
    std::vector<std::string> names;
    for (const PlaceRecord& place : record.places) names.push_back(place.name);
    text += std::string(k_indent, ' ') +
            wrap(together_text(*row.together, names), k_indent, layout.style.width) + '\n';
  }
  if (row.reply.queued) {
    text += std::string(k_indent, ' ') +
            wrap(queued_text(*row.reply.queued), k_indent, layout.style.width) + '\n';
  }
  if (!row.resumed_from.empty()) {
    text += fmt::format("{}resumed: measured in the run of {}\n", std::string(k_indent, ' '),
                        to_one_line(row.resumed_from));
  }
  return text + warning_lines(record, i, layout);
}

std::string table_footer(const RunRecord& record, const TableLayout& layout) {
  std::string text;
  for (const std::string& problem : problem_names(record)) {
    const std::optional<double> mean = problem_geometric_mean(record, problem);
    if (mean && std::isfinite(*mean)) {
      text += fmt::format("geometric mean of {}: {}", problem,
                          paint(layout.style, Paint::bold, format_time(*mean)));
      const std::optional<Ratio> ratio = problem_ratio(record, problem);
      text += ratio ? fmt::format("; over baseline {}\n", ratio_text(*ratio)) : "\n";
    }
  }
  const auto failed = std::count_if(record.cases.begin(), record.cases.end(),
                                    [](const CaseRecord& row) { return !row.passed; });
  const std::string passed_text =
      fmt::format("{} passed", static_cast<std::ptrdiff_t>(record.cases.size()) - failed);
  const std::string failed_text = fmt::format("{} failed", failed);
  const std::size_t resumed = resumed_cases(record);
  text += fmt::format("{}, {}{}\n",
                      paint(layout.style, failed == 0 ? Paint::green : Paint::plain, passed_text),
                      paint(layout.style, failed == 0 ? Paint::plain : Paint::red, failed_text),
                      resumed == 0 ? "" : fmt::format(" ({} resumed)", resumed));
  return text;
}

std::unique_ptr<Reporter> make_table_reporter(ColorChoice color) {
  return std::make_unique<TableReporter>(color);
}

}  // namespace kbench
