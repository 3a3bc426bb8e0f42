// A comparison as lines for a reader, as pure functions of its record. Knows no descriptor.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text.h"
#include "runner/comparison.h"
#include "runner/figures.h"
#include "runner/progress.h"

namespace kbench {
namespace {

constexpr std::size_t k_longest_spec = 72;
constexpr std::size_t k_indent = 4;
constexpr std::size_t k_ratio_width = 29;   // `B/A 0.5124 [0.5110, 0.5138]`
constexpr std::size_t k_figure_width = 88;  // `A 12.34 us  B 12.34 us  200 pairs  B/A ...`

std::string spec_text(const Case& spec) { return shorten(to_one_line(spec.spec), k_longest_spec); }

std::string case_lead(const Case& spec, std::size_t i, const ComparisonLayout& layout) {
  std::string text = fmt::format("{:>2}  ", i);
  if (layout.problem_width > 0) text += pad(spec.problem, layout.problem_width) + "  ";
  return text +
         (layout.beside ? pad(spec_text(spec), layout.spec_width) + "  " : spec_text(spec) + '\n');
}

std::size_t figures_column(const ComparisonLayout& layout) {
  if (!layout.beside) return k_indent;
  const std::size_t problem = layout.problem_width > 0 ? layout.problem_width + 2 : 0;
  return 4 + problem + layout.spec_width + 2;
}

std::string failures(const ComparisonRecord& record, const ComparedCase& row,
                     const ComparisonLayout& layout) {
  std::string text;
  for (std::size_t k = 0; k < row.times.size(); ++k) {
    if (row.times[k].error.empty()) continue;
    const std::size_t indent = text.empty() ? figures_column(layout) : k_indent;
    if (!text.empty() || !layout.beside) text.append(k_indent, ' ');
    text +=
        paint(layout.style, Paint::red, "FAIL") + "  " +
        wrap(fmt::format("{} ({}): {}", kernel_letter(k), to_one_line(record.kernels[k].info.name),
                         to_one_line(row.times[k].error)),
             indent + 6, layout.style.width) +
        '\n';
  }
  return text;
}

std::vector<std::string> ratio_cells(std::size_t k, const ComparedRatio& compared,
                                     const TextStyle& style) {
  const bool faster = compared.verdict == RatioVerdict::faster;
  const bool slower = compared.verdict == RatioVerdict::slower;
  return {fmt::format("{}/A {}", kernel_letter(k), ratio_text(compared.ratio)),
          paint(style,
                faster   ? Paint::green
                : slower ? Paint::red
                         : Paint::plain,
                verdict_text(compared))};
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

ComparisonLayout comparison_layout(const std::vector<Case>& cases, const TextStyle& style) {
  ComparisonLayout layout;
  layout.style = style;
  std::size_t widest = 0;
  bool several = false;
  for (const Case& spec : cases) {
    layout.spec_width = std::max(layout.spec_width, width_of(spec_text(spec)));
    widest = std::max(widest, width_of(spec.problem));
    several = several || spec.problem != cases.front().problem;
  }
  if (several) layout.problem_width = widest;
  layout.beside = style.width == 0 || figures_column(layout) + k_figure_width <= style.width;
  return layout;
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

std::string comparison_heading(const ComparisonRecord& record, const ComparisonLayout& layout) {
  const std::size_t width = layout.style.width;
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
        wrap(fmt::format("device {} ({}), clock {}, flush {:.4g} MB",
                         device_label(device.kind, device.index), to_one_line(device.name),
                         to_one_line(device.clock), static_cast<double>(device.flush_bytes) * 1e-6),
             0, width) +
        '\n';
  }
  if (!record.paired) {
    text += wrap("the runs were not made in turns: what changed between them is in the ratios", 0,
                 width) +
            '\n';
  }
  return text +
         wrap(fmt::format("times are medians; a ratio below 1 is faster than A; all "
                          "intervals hold together with {:g} %; same: within {:g} %",
                          100 * k_run_level, 100 * record.same),
              0, width) +
         '\n';
}

std::string comparison_row(const ComparisonRecord& record, std::size_t i,
                           const ComparisonLayout& layout) {
  const ComparedCase& row = record.cases[i];
  std::string text = case_lead(row.spec, i, layout);
  if (row.ratios.empty()) return text + failures(record, row, layout);
  const std::size_t column = figures_column(layout);
  for (std::size_t k = 1; k < row.times.size(); ++k) {
    if (k > 1 || !layout.beside) text.append(column, ' ');
    std::vector<std::string> cells = {
        fmt::format("A {:>9}", format_time(row.times[0].median_ns)),
        fmt::format("{} {:>9}", kernel_letter(k), format_time(row.times[k].median_ns)),
        fmt::format("{:>4} {}", row.times[k].samples_ns.size(),
                    record.paired ? "pairs" : "repeats")};
    const std::vector<std::string> ratio = ratio_cells(k, row.ratios[k - 1], layout.style);
    cells.push_back(layout.beside ? pad(ratio[0], k_ratio_width) : ratio[0]);
    cells.push_back(ratio[1]);
    text += flow(cells, column, layout.style.width) + '\n';
  }
  return text;
}

std::string comparison_footer(const ComparisonRecord& record, const ComparisonLayout& layout) {
  std::string text;
  for (const ComparedMean& mean : record.means) {
    for (std::size_t k = 1; k <= mean.ratios.size(); ++k) {
      std::vector<std::string> cells = ratio_cells(k, mean.ratios[k - 1], layout.style);
      cells.front() = fmt::format("geometric mean of {}: {}", mean.problem, cells.front());
      text += flow(cells, 0, layout.style.width) + '\n';
    }
  }
  if (lacks_interval(record)) {
    const std::int64_t least =
        least_pairs(record.paired ? record.level : each_of_two(record.level));
    text += wrap(fmt::format("too few: an interval needs {0} {1}; take them with `--repeats {0}`",
                             least, record.paired ? "pairs" : "repeats in both runs"),
                 0, layout.style.width) +
            '\n';
  }
  std::array<int, 4> counts{};
  int failed = 0;
  count_verdicts(record, counts, failed);
  std::string verdicts = fmt::format("{} faster, {} slower, {} same, {} undecided", counts[0],
                                     counts[1], counts[2], counts[3]);
  if (failed > 0) verdicts += fmt::format(", {} not compared (a kernel failed)", failed);
  return text + wrap(verdicts, 0, layout.style.width) + '\n';
}

std::string rounds_text(const RoundRule& rule, std::size_t challengers, double wall_s) {
  std::string text = fmt::format("pair {} |", rule.log_ratios(0).size());
  for (std::size_t k = 0; k < challengers; ++k) {
    text += fmt::format(" {}/A {:.3g}", kernel_letter(k + 1),
                        std::exp(quantile(rule.log_ratios(k), 0.5)));
  }
  return text + fmt::format(" | up to {} left", duration_text(rule.most_left_s(wall_s)));
}

}  // namespace kbench
