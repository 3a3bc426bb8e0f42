// Parts of charts as SVG text: scales, ticks, escaped words. Coordinates are those of the viewBox.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kbench {

/// Text for element content and for attributes in double quotes; valid UTF-8, no markup.
std::string html_escape(std::string_view text);

/// Maps values to pixels, linearly or by their logarithm. Values outside are put on the edge.
struct Scale {
  double low = 0, high = 1;    ///< values, low < high; above 0 for a logarithm
  double first = 0, last = 1;  ///< pixels of both
  bool logarithmic = false;

  double at(double value) const;
};

/// About `count` round numbers in [low, high].
std::vector<double> round_ticks(double low, double high, int count);
/// Powers of ten in [low, high], at most about `count` of them.
std::vector<double> decade_ticks(double low, double high, int count);

/// `<svg ...>` with that viewBox, a role and a label for readers that see no pictures.
std::string svg_open(double width, double height, std::string_view label);
std::string svg_line(double x1, double y1, double x2, double y2, std::string_view css_class);
/// `anchor`: start, middle or end.
std::string svg_text(double x, double y, std::string_view anchor, std::string_view words,
                     std::string_view css_class = "");
std::string svg_box(double x, double y, double width, double height, std::string_view css_class);

}  // namespace kbench
