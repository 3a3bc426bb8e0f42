// One row for each figure of the table: its name, its width, its text. Knows no other row and no
// layout of the page.
#include "runner/table_columns.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

#include "runner/comparison.h"
#include "runner/figures.h"
#include "runner/trace.h"

namespace kbench {
namespace {

constexpr std::string_view k_none = "-";

constexpr std::array<Column, 13> k_columns{{{"median", 10},
                                            {"95 % interval", 15},
                                            {"mean ± err", 15},
                                            {"min", 7},
                                            {"p90", 7},
                                            {"runs", 5},
                                            {"stop", 7},
                                            {"TFLOP/s", 7},
                                            {"GB/s", 6},
                                            {"floor %", 7},
                                            {"idle %", 6},
                                            {"res/gate", 8},
                                            {"over baseline", 20}}};

/// Three significant digits without an exponent where that is short.
std::string short_number(double value) { return fmt::format("{:.3g}", value); }

std::string optional_number(std::optional<double> value, double scale = 1) {
  return value ? short_number(*value * scale) : std::string(k_none);
}

}  // namespace

std::span<const Column> figure_columns(bool baseline) {
  return std::span(k_columns).first(k_columns.size() - (baseline ? 0 : 1));
}

std::vector<std::string> figure_cells(const CaseRecord& row, const TextStyle& style,
                                      bool baseline) {
  const Summary& s = *row.summary;
  const Distribution d = row.distribution.value_or(Distribution{});
  const TimeUnit unit = unit_of(s.median);
  const int digits = decimals_for(s.median / unit.ns, uncertainty_of(row) / unit.ns);
  const auto time = [&](double ns) { return fixed(ns / unit.ns, digits); };
  const int mean_digits = decimals_for(s.mean / unit.ns, s.err / unit.ns);
  const std::string interval =
      d.median_95 ? fmt::format("{} - {}", time(d.median_95->low), time(d.median_95->high))
                  : std::string(k_none);
  // Nothing is known of the error of one repeat.
  const std::string mean = s.runs < 2 ? time(s.mean)
                                      : fmt::format("{} ± {}", fixed(s.mean / unit.ns, mean_digits),
                                                    fixed(s.err / unit.ns, mean_digits));
  std::vector<std::string> cells = {
      paint(style, Paint::bold, fmt::format("{} {}", time(s.median), unit.name)),
      interval,
      mean,
      time(s.best),
      time(d.p90),
      std::to_string(s.runs),
      std::string(to_string(row.reply.stop)),
      optional_number(tflop_per_s(row)),
      optional_number(gb_per_s(row)),
      optional_number(floor_share(row), 100),
      optional_number(idle_share(row.reply), 100),
      short_number(row.reply.worst_of_gate)};
  if (baseline) {
    cells.push_back(row.over_baseline ? ratio_text(*row.over_baseline) : std::string(k_none));
  }
  return cells;
}

std::vector<std::string> in_columns(std::vector<std::string> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = pad_left(cells[i], k_columns.at(i).width);
  }
  return cells;
}

std::size_t figure_width(bool baseline) {
  const std::span<const Column> columns = figure_columns(baseline);
  std::size_t width = 2 * (columns.size() - 1);
  for (const Column& column : columns) width += column.width;
  return width;
}

}  // namespace kbench
