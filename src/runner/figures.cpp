// Rates, shares and digits. Pure functions of the record; knows no layout and no descriptor.
#include "runner/figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace kbench {
namespace {

constexpr int k_most_digits = 5;
constexpr int k_plain_digits = 4;

int place_of(double value) { return static_cast<int>(std::floor(std::log10(std::abs(value)))); }

std::optional<double> per_median(const CaseRecord& row, double amount) {
  if (!row.summary || amount <= 0) return std::nullopt;
  return amount / row.summary->median;
}

}  // namespace

TimeUnit unit_of(double ns) {
  constexpr TimeUnit k_units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
  for (const TimeUnit& unit : k_units) {
    if (std::abs(ns) >= unit.ns) return unit;
  }
  return {1, "ns"};
}

int decimals_for(double value, double uncertainty) {
  if (!std::isfinite(value) || value == 0) return 0;
  const int place = place_of(value);
  int wanted = k_plain_digits - 1 - place;
  if (std::isfinite(uncertainty) && uncertainty > 0) {
    wanted = -place_of(uncertainty);
    // 0.14 cut to 0.1 would lose a third of it.
    if (uncertainty * std::pow(10, wanted) < 3) ++wanted;
  }
  // The first digit stands even where the interval does not support it.
  return std::clamp(wanted, -place, k_most_digits - 1 - place);
}

std::string fixed(double value, int decimals) {
  if (decimals >= 0) return fmt::format("{:.{}f}", value, decimals);
  const double step = std::pow(10, -decimals);
  return fmt::format("{:.0f}", std::round(value / step) * step);
}

std::string format_time(double ns) {
  const TimeUnit unit = unit_of(ns);
  return fmt::format("{:.4g} {}", ns / unit.ns, unit.name);
}

std::string format_mean(double mean_ns, double err_ns) {
  if (!(err_ns > 0)) return format_time(mean_ns);
  const TimeUnit unit = unit_of(mean_ns);
  return fmt::format("{:.4g} {} ± {:.2g} {}", mean_ns / unit.ns, unit.name, err_ns / unit.ns,
                     unit.name);
}

double uncertainty_of(const CaseRecord& row) {
  if (!row.summary) return 0;
  const Summary& s = *row.summary;
  if (!row.distribution || !row.distribution->median_95) return s.err;
  const Interval& interval = *row.distribution->median_95;
  return std::max(interval.high - s.median, s.median - interval.low);
}

std::optional<double> tflop_per_s(const CaseRecord& row) {
  const auto rate = per_median(row, row.flops);
  if (rate) return *rate * 1e-3;
  return std::nullopt;
}

std::optional<double> gb_per_s(const CaseRecord& row) { return per_median(row, row.bytes); }

std::optional<double> floor_share(const CaseRecord& row) {
  return per_median(row, row.reply.floor_ns);
}

}  // namespace kbench
