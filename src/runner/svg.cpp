// Writes SVG elements. Knows numbers and words; not what a chart shows and no colour, which is the
// style sheet's.
#include "runner/svg.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace kbench {

std::string html_escape(std::string_view text) {
  std::string escaped;
  for (const char c : to_one_line(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

double Scale::at(double value) const {
  const double inside = std::clamp(value, low, high);
  const double part =
      logarithmic ? std::log(inside / low) / std::log(high / low) : (inside - low) / (high - low);
  return first + part * (last - first);
}

std::vector<double> round_ticks(double low, double high, int count) {
  std::vector<double> ticks;
  if (!(high > low)) return ticks;
  const double raw = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) {
      step = factor * power;
      break;
    }
  }
  // Counted, so that no rounding error adds up.
  for (double i = std::ceil(low / step); i * step <= high; ++i) ticks.push_back(i * step);
  return ticks;
}

std::vector<double> decade_ticks(double low, double high, int count) {
  std::vector<double> ticks;
  const int first = static_cast<int>(std::ceil(std::log10(low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
  const int most = std::max(count, 1);
  const int step = std::max(1, (last - first + most - 1) / most);
  for (int power = first; power <= last; power += step) ticks.push_back(std::pow(10.0, power));
  return ticks;
}

std::string svg_open(double width, double height, std::string_view label) {
  return fmt::format("<svg viewBox=\"0 0 {:g} {:g}\" role=\"img\" aria-label=\"{}\">", width,
                     height, html_escape(label));
}

std::string svg_line(double x1, double y1, double x2, double y2, std::string_view css_class) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>",
                     x1, y1, x2, y2, css_class);
}

std::string svg_text(double x, double y, std::string_view anchor, std::string_view words,
                     std::string_view css_class) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>", x,
                     y, anchor, css_class, html_escape(words));
}

std::string svg_box(double x, double y, double width, double height, std::string_view css_class) {
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\"/>", x, y,
      std::max(width, 0.0), std::max(height, 0.0), css_class);
}

}  // namespace kbench
