// Draws the charts of the report from figures. Wide as a phone, so that their words can be read on
// one; colours are the style sheet's. Decides nothing about a result.
#include "runner/report_charts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/distribution.h"
#include "runner/figures.h"
#include "runner/svg.h"

namespace kbench {
namespace {

constexpr double k_width = 360;
constexpr double k_least_fraction = 1e-6, k_most_fraction = 10;

bool is_usable(double value) { return std::isfinite(value) && value > 0; }

/// A little room around the values, also when all of them are equal.
std::pair<double, double> range_of(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double room = std::max(0.06 * (*high - *low), 0.002 * std::abs(*high));
  return {*low - room, *high + room};
}

std::string time_axis(const Scale& y, double left, double right) {
  const TimeUnit unit = unit_of(y.high);
  std::string text;
  for (const double tick : round_ticks(y.low / unit.ns, y.high / unit.ns, 4)) {
    const double at = y.at(tick * unit.ns);
    text += svg_line(left, at, right, at, "grid");
    text += svg_text(left - 4, at + 4, "end", fmt::format("{:g}", tick));
  }
  return text + svg_text(4, 12, "start", unit.name);
}

std::string histogram(const std::vector<double>& samples, const Scale& y, double left,
                      double right) {
  constexpr std::size_t k_bins = 24;
  std::array<int, k_bins> counts{};
  for (const double sample : samples) {
    const double part = (sample - y.low) / (y.high - y.low);
    counts[std::min(static_cast<std::size_t>(part * k_bins), k_bins - 1)]++;
  }
  const double height = std::abs(y.last - y.first) / k_bins;
  const double most = *std::max_element(counts.begin(), counts.end());
  std::string text;
  for (std::size_t bin = 0; bin < k_bins; ++bin) {
    if (counts[bin] == 0) continue;
    const double top = y.first - height * static_cast<double>(bin + 1);
    text += svg_box(left, top + 0.5, (right - left) * counts[bin] / most, height - 1, "bar");
  }
  return text;
}

std::string dots(const std::vector<double>& samples, const Scale& x, const Scale& y) {
  std::string path;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    path += fmt::format("M{:.1f},{:.1f}h0", x.at(static_cast<double>(i)), y.at(samples[i]));
  }
  return fmt::format("<path class=\"dots\" d=\"{}\"/>", path);
}

struct Bar {
  std::string name;
  double fraction = 0;
  std::string words;
};

std::vector<Bar> residual_bars(const ResultCase& row) {
  std::vector<Bar> bars;
  for (const Figure& figure : row.residuals) {
    if (!(figure.gate > 0)) continue;
    bars.push_back({figure.name, figure.value / figure.gate,
                    fmt::format("{:.3g} of {:g}", figure.value, figure.gate)});
  }
  if (bars.empty() && !row.worst_gate.empty()) {
    bars.push_back(
        {row.worst_gate, row.worst_of_gate, fmt::format("{:.3g} of the gate", row.worst_of_gate)});
  }
  return bars;
}

std::string short_name(std::string name) {
  for (const std::string_view part : {"scaled_", "_residual"}) {
    const std::size_t at = name.find(part);
    if (at != std::string::npos) name.erase(at, part.size());
  }
  return name;
}

/// One line of the ratio chart.
std::string ratio_line(const std::string& label, const ComparedRatio& compared, const Scale& x,
                       double y) {
  const Ratio& ratio = compared.ratio;
  const std::string verdict(to_string(compared.verdict));
  std::string text = fmt::format("<g class=\"{}\"><title>{} {}</title>", verdict,
                                 html_escape(ratio_text(ratio)), html_escape(verdict));
  text += svg_text(4, y + 4, "start", label);
  if (ratio.interval) {
    text += svg_line(x.at(ratio.interval->low), y, x.at(ratio.interval->high), y, "interval");
  }
  text += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" class=\"dot\"/></g>",
                      x.at(ratio.value), y);
  return text;
}

std::vector<std::pair<std::string, ComparedRatio>> ratio_rows(const ComparisonRecord& record) {
  std::vector<std::pair<std::string, ComparedRatio>> rows;
  for (const ComparedCase& row : record.cases) {
    if (row.ratios.empty()) continue;
    rows.emplace_back(fmt::format("case {}", row.case_index), row.ratios.front());
  }
  for (const ComparedMean& mean : record.means) {
    if (mean.ratios.empty()) continue;
    rows.emplace_back(fmt::format("all of {}", mean.problem), mean.ratios.front());
  }
  return rows;
}

struct Extent {
  double low = 0, high = 0;
  void take(double value) {
    if (!is_usable(value)) return;
    low = low > 0 ? std::min(low, value) : value;
    high = std::max(high, value);
  }
};

std::string roofs(const Roof& roof, const Scale& x, const Scale& y) {
  std::string text;
  const double ridge = roof.bytes_per_s > 0 ? roof.flops_per_s / roof.bytes_per_s : x.low;
  if (roof.bytes_per_s > 0) {
    // Both axes are logarithmic: a line of slope one, cut where it leaves the picture.
    const double from = std::max(x.low, y.low / roof.bytes_per_s);
    double to = std::min(x.high, y.high / roof.bytes_per_s);
    if (roof.flops_per_s > 0) to = std::min(to, ridge);
    text += svg_line(x.at(from), y.at(from * roof.bytes_per_s), x.at(to),
                     y.at(to * roof.bytes_per_s), "roof");
  }
  if (roof.flops_per_s > 0) {
    text += svg_line(x.at(std::max(ridge, x.low)), y.at(roof.flops_per_s), x.last,
                     y.at(roof.flops_per_s), "roof");
  }
  return text;
}

}  // namespace

std::string samples_chart(const ResultCase& row) {
  const std::vector<double>& samples = row.samples_ns;
  if (samples.empty() || !std::all_of(samples.begin(), samples.end(), is_usable)) return "";
  constexpr double k_height = 190, k_left = 44, k_right = 280, k_bar_left = 290;
  const auto [low, high] = range_of(samples);
  const Scale y{low, high, k_height - 24, 18, false};
  const double last = std::max(static_cast<double>(samples.size()) - 1, 1.0);
  const Scale x{0, last, k_left + 4, k_right - 4, false};
  std::string text = svg_open(k_width, k_height, "time of each repeat, and their histogram");
  text += time_axis(y, k_left, k_right);
  if (const auto interval = median_interval(samples)) {
    text += svg_box(k_left, y.at(interval->high), k_right - k_left,
                    y.at(interval->low) - y.at(interval->high), "band");
  }
  const double median = y.at(quantile(samples, 0.5));
  text += svg_line(k_left, median, k_right, median, "median");
  text += dots(samples, x, y);
  text += histogram(samples, y, k_bar_left, k_width - 6);
  text += svg_text(k_left, k_height - 6, "start", "repeat 1");
  text += svg_text(k_right, k_height - 6, "end", fmt::format("{}", samples.size()));
  text += svg_text(k_bar_left, k_height - 6, "start", "how often");
  return text + "</svg>";
}

std::string residuals_chart(const ResultCase& row) {
  const std::vector<Bar> bars = residual_bars(row);
  if (bars.empty()) return "";
  constexpr double k_left = 104, k_row = 24;
  const double bottom = 10 + k_row * static_cast<double>(bars.size());
  const Scale x{k_least_fraction, k_most_fraction, k_left, k_width - 10, true};
  std::string text = svg_open(k_width, bottom + 22, "residuals as fractions of their gates");
  for (const double tick : decade_ticks(k_least_fraction, k_most_fraction, 4)) {
    text += svg_line(x.at(tick), 4, x.at(tick), bottom, "grid");
    text += svg_text(x.at(tick), bottom + 14, "middle", fmt::format("{:g}", tick));
  }
  double y = 10;
  for (const Bar& bar : bars) {
    const bool passes = bar.fraction <= 1;
    // Not a number is worse than any.
    const double end = std::isnan(bar.fraction) ? k_most_fraction : bar.fraction;
    text += fmt::format("<g><title>{}: {}</title>", html_escape(bar.name), html_escape(bar.words));
    text += svg_text(k_left - 6, y + 14, "end", short_name(bar.name));
    text += svg_box(k_left, y + 3, x.at(end) - k_left, 14, passes ? "bar" : "bar slower") + "</g>";
    y += k_row;
  }
  return text + svg_line(x.at(1), 4, x.at(1), bottom, "gate") + "</svg>";
}

std::string roofline_chart(const std::vector<RooflinePoint>& points, const Roof& roof) {
  if (points.empty()) return "";
  constexpr double k_height = 250, k_left = 50;
  Extent across, up;
  for (const RooflinePoint& point : points) {
    across.take(point.intensity);
    up.take(point.flops_per_s);
  }
  if (roof.bytes_per_s > 0 && roof.flops_per_s > 0)
    across.take(roof.flops_per_s / roof.bytes_per_s);
  up.take(roof.flops_per_s);
  up.take(across.low * roof.bytes_per_s);
  const Scale x{across.low / 2, across.high * 2, k_left, k_width - 8, true};
  const Scale y{up.low / 2, up.high * 2, k_height - 34, 14, true};
  std::string text = svg_open(k_width, k_height, "roofline: rate over intensity");
  for (const double tick : decade_ticks(x.low, x.high, 6)) {
    text += svg_line(x.at(tick), y.last, x.at(tick), y.first, "grid");
    text += svg_text(x.at(tick), k_height - 20, "middle", fmt::format("{:g}", tick));
  }
  for (const double tick : decade_ticks(y.low, y.high, 6)) {
    text += svg_line(x.first, y.at(tick), x.last, y.at(tick), "grid");
    text += svg_text(k_left - 4, y.at(tick) + 4, "end", fmt::format("{:g}", tick * 1e-12));
  }
  text += svg_text(x.last, k_height - 5, "end", "nominal flop per byte");
  text += svg_text(4, 11, "start", "Tflop/s") + roofs(roof, x, y);
  for (const RooflinePoint& point : points) {
    const double px = x.at(point.intensity), py = y.at(point.flops_per_s);
    text += fmt::format("<g class=\"{}\"><title>{}</title>", point.first_file ? "a" : "b",
                        html_escape(point.words));
    text += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" class=\"dot\"/>", px, py);
    text += svg_text(px + 5, py + 3, "start", point.label, "small") + "</g>";
  }
  return text + "</svg>";
}

std::string ratios_chart(const ComparisonRecord& record) {
  const auto rows = ratio_rows(record);
  if (rows.empty()) return "";
  constexpr double k_left = 92, k_row = 18;
  Extent extent;
  extent.take(1 / (1 + 2 * record.same));
  extent.take(1 + 2 * record.same);
  for (const auto& [label, compared] : rows) {
    extent.take(compared.ratio.value);
    if (!compared.ratio.interval) continue;
    extent.take(compared.ratio.interval->low);
    extent.take(compared.ratio.interval->high);
  }
  const double bottom = 8 + k_row * static_cast<double>(rows.size());
  const Scale x{extent.low / 1.02, extent.high * 1.02, k_left, k_width - 10, true};
  std::string text = svg_open(k_width, bottom + 22, "ratio of times, with intervals");
  const double zone = x.at(1 / (1 + record.same));
  text += svg_box(zone, 4, x.at(1 + record.same) - zone, bottom - 4, "band");
  const bool wide = x.high > 8 * x.low;
  for (const double tick : wide ? decade_ticks(x.low, x.high, 5) : round_ticks(x.low, x.high, 4)) {
    text += svg_line(x.at(tick), 4, x.at(tick), bottom, "grid");
    text += svg_text(x.at(tick), bottom + 14, "middle", fmt::format("{:g}", tick));
  }
  text += svg_line(x.at(1), 4, x.at(1), bottom, "gate");
  double y = 8 + k_row / 2;
  for (const auto& [label, compared] : rows) {
    text += ratio_line(label, compared, x, y);
    y += k_row;
  }
  return text + "</svg>";
}

}  // namespace kbench
