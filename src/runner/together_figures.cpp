// Sums over workers, and their words. Knows no lane and no clock but the stamps it is given.
#include "runner/together_figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "core/text.h"
#include "runner/figures.h"

namespace kbench {
namespace {

using Lane = TogetherFigures::Lane;

double middle(const StartBracket& start, std::int64_t origin_ns) {
  // The stamps are far from zero: their difference first, for the sake of the last digits.
  return (static_cast<double>(start.after_ns - origin_ns) +
          static_cast<double>(start.before_ns - origin_ns)) /
         2;
}

double reach(const Lane& lane, std::size_t repeat) {
  const StartBracket& start = lane.reply.starts[repeat];
  return static_cast<double>(start.before_ns - start.after_ns) / 2 + lane.clock_uncertainty_ns;
}

void add_repeat(TogetherFigures& figures, std::size_t repeat) {
  const std::vector<Lane>& lanes = figures.lanes;
  std::vector<double> samples;
  for (const Lane& lane : lanes) samples.push_back(lane.reply.samples_ns[repeat]);
  const auto [low, high] = std::minmax_element(samples.begin(), samples.end());
  figures.fastest_ns.push_back(*low);
  figures.slowest_ns.push_back(*high);
  figures.mean_ns.push_back(std::accumulate(samples.begin(), samples.end(), 0.0) /
                            static_cast<double>(samples.size()));
  const std::int64_t origin_ns = lanes.front().reply.starts[repeat].after_ns;
  const auto earlier = [&](const Lane& a, const Lane& b) {
    return middle(a.reply.starts[repeat], origin_ns) < middle(b.reply.starts[repeat], origin_ns);
  };
  const auto [first, last] = std::minmax_element(lanes.begin(), lanes.end(), earlier);
  figures.skew_ns.push_back(middle(last->reply.starts[repeat], origin_ns) -
                            middle(first->reply.starts[repeat], origin_ns));
  figures.skew_uncertainty_ns.push_back(
      first == last ? 0 : reach(*first, repeat) + reach(*last, repeat));
}

}  // namespace

TogetherFigures figures_of(std::vector<Lane> lanes) {
  TogetherFigures figures;
  figures.lanes = std::move(lanes);
  const std::size_t repeats = figures.lanes.front().reply.samples_ns.size();
  for (const Lane& lane : figures.lanes) {
    const std::size_t samples = lane.reply.samples_ns.size(), starts = lane.reply.starts.size();
    if (samples != repeats || starts != repeats) {
      throw std::runtime_error(
          fmt::format("the workers did not stay together (one tells {} times and {} starts, the "
                      "first {} times)",
                      samples, starts, repeats));
    }
  }
  for (std::size_t repeat = 0; repeat < repeats; ++repeat) add_repeat(figures, repeat);
  return figures;
}

std::string together_text(const TogetherFigures& figures, const std::vector<std::string>& names) {
  if (figures.skew_ns.empty()) return "together: no figure";
  const Summary skew = summarize(figures.skew_ns);
  const Summary uncertainty = summarize(figures.skew_uncertainty_ns);
  std::string text = fmt::format(
      "together: {} workers, medians of {} repeats: slowest {}, mean {}, fastest {}; started "
      "within "
      "{} (worst {}, known to ± {}); ",
      figures.lanes.size(), skew.runs, format_time(summarize(figures.slowest_ns).median),
      format_time(summarize(figures.mean_ns).median),
      format_time(summarize(figures.fastest_ns).median), format_time(skew.median),
      format_time(skew.worst), format_time(uncertainty.median));
  const char* comma = "";
  for (const Lane& lane : figures.lanes) {
    text += fmt::format("{}{} {}", std::exchange(comma, ", "), to_one_line(names[lane.place]),
                        format_time(summarize(lane.reply.samples_ns).median));
  }
  return text;
}

}  // namespace kbench
