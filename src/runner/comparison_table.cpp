// A comparison as lines for a reader, as pure functions of its record. Knows no descriptor.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text.h"
#include "runner/comparison.h"
#include "runner/figures.h"

namespace kbench {
namespace {

constexpr std::size_t k_longest_spec = 72;

std::string case_lead(const ComparisonRecord& record, std::size_t i, std::size_t spec_width) {
  const bool several =
      std::any_of(record.cases.begin(), record.cases.end(), [&](const ComparedCase& row) {
        return row.spec.problem != record.cases.front().spec.problem;
      });
  const Case& spec = record.cases[i].spec;
  const std::string problem = several ? spec.problem + "  " : "";
  return fmt::format("{:>2}  {}{:<{}}  ", i, problem, comparison_spec(spec), spec_width);
}

std::string failures(const ComparisonRecord& record, const ComparedCase& row) {
  std::string text;
  for (std::size_t k = 0; k < row.times.size(); ++k) {
    if (row.times[k].error.empty()) continue;
    text += fmt::format("{}FAIL  {} ({}): {}\n", text.empty() ? "" : "    ", kernel_letter(k),
                        to_one_line(record.kernels[k].info.name), to_one_line(row.times[k].error));
  }
  return text;
}

std::string ratio_columns(std::size_t k, const ComparedRatio& compared) {
  return fmt::format("{}/A {:<26} {}", kernel_letter(k), ratio_text(compared.ratio),
                     verdict_text(compared));
}

bool lacks_interval(const ComparisonRecord& record) {
  return std::any_of(record.cases.begin(), record.cases.end(), [](const ComparedCase& row) {
    return std::any_of(row.ratios.begin(), row.ratios.end(),
                       [](const ComparedRatio& compared) { return !compared.ratio.interval; });
  });
}

void count_verdicts(const ComparisonRecord& record, std::array<int, 4>& counts, int& failed) {
  for (const ComparedCase& row : record.cases) {
    if (row.ratios.empty()) ++failed;
    for (const ComparedRatio& compared : row.ratios) {
      ++counts[static_cast<std::size_t>(compared.verdict)];
    }
  }
}

}  // namespace

std::string comparison_spec(const Case& spec) {
  return shorten(to_one_line(spec.spec), k_longest_spec);
}

std::string ratio_text(const Ratio& ratio) {
  if (!ratio.interval) return fmt::format("{:.3g} (too few)", ratio.value);
  const auto [low, high] = *ratio.interval;
  // Two digits of the interval's width, and never fewer than three decimals of a hundredth.
  const double width = std::max(high - low, 1e-4 * ratio.value);
  const int decimals = std::clamp(1 - static_cast<int>(std::floor(std::log10(width))), 0, 9);
  return fmt::format("{:.{}f} [{:.{}f}, {:.{}f}]", ratio.value, decimals, low, decimals, high,
                     decimals);
}

std::string verdict_text(const ComparedRatio& compared) {
  const double value = compared.ratio.value;
  const std::string word(to_string(compared.verdict));
  if (compared.verdict == RatioVerdict::faster) return fmt::format("{} ({:.3g}x)", word, 1 / value);
  if (compared.verdict == RatioVerdict::slower) return fmt::format("{} ({:.3g}x)", word, value);
  return word;
}

std::string comparison_heading(const ComparisonRecord& record) {
  std::string text;
  for (std::size_t k = 0; k < record.kernels.size(); ++k) {
    const ComparedKernel& kernel = record.kernels[k];
    text += fmt::format(
        "{}  {}{}\n", kernel_letter(k), to_one_line(kernel.info.name),
        kernel.asked == kernel.info.name ? "" : fmt::format("  ({})", to_one_line(kernel.asked)));
  }
  if (record.device) {
    const DeviceInfo& device = *record.device;
    text +=
        fmt::format("device {} ({}), clock {}, flush {:.4g} MB\n",
                    device.kind == DeviceKind::cuda ? fmt::format("cuda:{}", device.index) : "host",
                    to_one_line(device.name), to_one_line(device.clock),
                    static_cast<double>(device.flush_bytes) * 1e-6);
  }
  if (!record.paired) {
    text += "the runs were not made in turns: what changed between them is in the ratios\n";
  }
  return text + fmt::format(
                    "times are medians; a ratio below 1 is faster than A; all intervals "
                    "hold together with {:g} %; same: within {:g} %\n",
                    100 * k_run_level, 100 * record.same);
}

std::string comparison_row(const ComparisonRecord& record, std::size_t i, std::size_t spec_width) {
  const ComparedCase& row = record.cases[i];
  const std::string lead = case_lead(record, i, spec_width);
  if (row.ratios.empty()) return lead + failures(record, row);
  std::string text;
  for (std::size_t k = 1; k < row.times.size(); ++k) {
    text += k == 1 ? lead : std::string(lead.size(), ' ');
    text += fmt::format("A {:>9}  {} {:>9}  {:>4} {}  {}\n", format_time(row.times[0].median_ns),
                        kernel_letter(k), format_time(row.times[k].median_ns),
                        row.times[k].samples_ns.size(), record.paired ? "pairs" : "repeats",
                        ratio_columns(k, row.ratios[k - 1]));
  }
  return text;
}

std::string comparison_footer(const ComparisonRecord& record) {
  std::string text;
  for (const ComparedMean& mean : record.means) {
    for (std::size_t k = 1; k <= mean.ratios.size(); ++k) {
      text += fmt::format("geometric mean of {}: {}\n", mean.problem,
                          ratio_columns(k, mean.ratios[k - 1]));
    }
  }
  if (lacks_interval(record)) {
    const std::int64_t least =
        least_pairs(record.paired ? record.level : each_of_two(record.level));
    text += fmt::format("too few: an interval needs {0} {1}; take them with `--repeats {0}`\n",
                        least, record.paired ? "pairs" : "repeats in both runs");
  }
  std::array<int, 4> counts{};
  int failed = 0;
  count_verdicts(record, counts, failed);
  text += fmt::format("{} faster, {} slower, {} same, {} undecided", counts[0], counts[1],
                      counts[2], counts[3]);
  if (failed > 0) text += fmt::format(", {} not compared (a kernel failed)", failed);
  return text + '\n';
}

}  // namespace kbench
