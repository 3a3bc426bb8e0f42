// The charts of the HTML report, as SVG.
#pragma once

#include <string>
#include <vector>

#include "runner/comparison.h"
#include "runner/results_file.h"

namespace kbench {

/// Samples over repeats with their median and its interval, and beside them their histogram. Empty
/// without samples.
std::string samples_chart(const ResultCase& row);

/// Every gated residual as a fraction of its gate, on a logarithmic axis up to beyond the gate.
/// Documents without gates show the worst one. Empty when nothing was checked.
std::string residuals_chart(const ResultCase& row);

struct RooflinePoint {
  std::string label;     ///< `A3`
  std::string words;     ///< of the case, shown on hovering
  double intensity = 0;  ///< nominal flop per byte
  double flops_per_s = 0;
  bool first_file = true;
};
struct Roof {
  double bytes_per_s = 0, flops_per_s = 0;  ///< 0: not known, and not drawn
};
/// Empty without points.
std::string roofline_chart(const std::vector<RooflinePoint>& points, const Roof& roof);

/// Ratio and interval of every case and mean of a comparison of two.
std::string ratios_chart(const ComparisonRecord& record);

}  // namespace kbench
