// Keeps seed and offset, and draws what is exact on a CPU. Follows torch 2.11 on CUDA with the
// launch geometry of core/philox.h; must not know which problem draws.
#include "problems/torch_generator.h"

#include <algorithm>
#include <cmath>

#include "core/philox.h"
#include "device/ops.h"

namespace kbench {
namespace {

constexpr int k_float_draws_per_call = 4;
constexpr std::int64_t k_wide_range = std::int64_t{1} << 28;

// (0, 1] with one rounding, which double makes exact.
float unit_interval(std::uint32_t word) {
  return static_cast<float>(double{static_cast<float>(word)} * 0x1p-32 + 0x1p-33);
}

std::uint64_t next_float_offset(std::uint64_t offset, std::int64_t count) {
  return philox::visit_fills(offset, count, philox::k_float_fill, k_float_draws_per_call,
                             [](std::uint64_t, std::int64_t, std::int64_t) {});
}

std::vector<float> probabilities(std::span<const float> weights) {
  float sum = 0;
  for (const float weight : weights) sum += weight;
  std::vector<float> result;
  for (const float weight : weights) result.push_back(weight / sum);
  return result;
}

// The category with the largest p / q where q is exponential: torch's path for a single sample.
std::int64_t race(std::uint64_t seed, std::uint64_t offset, const std::vector<float>& p) {
  std::int64_t winner = 0;
  float best = -1;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const float u = unit_interval(philox::words(seed, i, offset / 4).w[0]);
    const float q = u >= 1 - 0x1p-24f ? 0x1p-24f : -std::log(u);
    if (p[i] / q > best) {
      best = p[i] / q;
      winner = static_cast<std::int64_t>(i);
    }
  }
  return winner;
}

}  // namespace

std::uint64_t TorchGenerator::advance(std::string_view op, std::int64_t count,
                                      std::uint64_t next_offset) {
  const std::uint64_t offset = offset_;
  log_.push_back(Draw{op, count, offset, next_offset});
  offset_ = next_offset;
  return offset;
}

void TorchGenerator::normal(std::int64_t count, float* out) {
  const std::uint64_t offset = advance("randn", count, next_float_offset(offset_, count));
  device_.ops().normal(seed_, offset, count, out);
}

void TorchGenerator::skip_normal(std::int64_t count) {
  advance("randn", count, next_float_offset(offset_, count));
}

void TorchGenerator::uniform(std::int64_t count, float* out) {
  const std::uint64_t offset = advance("uniform_", count, next_float_offset(offset_, count));
  device_.ops().uniform(seed_, offset, count, out);
}

std::vector<std::int64_t> TorchGenerator::integers(std::int64_t low, std::int64_t high,
                                                   std::int64_t count) {
  KBENCH_ASSERT(low < high && count >= 0);
  const auto range = static_cast<std::uint64_t>(high - low);
  const bool wide = high - low >= k_wide_range;
  const int per_call = wide ? 2 : 4;
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  const auto fill = [&](std::uint64_t offset, std::int64_t first, std::int64_t length) {
    const std::int64_t threads = philox::threads(length);
    for (std::int64_t i = 0; i < length; ++i) {
      const philox::Place place = philox::place(i, threads, per_call);
      const philox::Words words = philox::words(seed_, place.thread, offset / 4 + place.call);
      const auto lane = static_cast<std::size_t>(place.lane);
      const std::uint64_t word =
          wide ? (std::uint64_t{words.w[2 * lane]} << 32 | words.w[2 * lane + 1]) : words.w[lane];
      values[static_cast<std::size_t>(first + i)] = low + static_cast<std::int64_t>(word % range);
    }
  };
  advance("randint", count,
          philox::visit_fills(offset_, count, philox::k_int64_fill, per_call, fill));
  return values;
}

std::vector<std::int64_t> TorchGenerator::multinomial(std::span<const float> weights,
                                                      std::int64_t count) {
  KBENCH_ASSERT(!weights.empty() && count >= 1);
  const std::vector<float> p = probabilities(weights);
  const std::uint64_t offset = advance("multinomial", count, offset_ + 4);
  if (count == 1) return {race(seed_, offset, p)};

  std::vector<float> cumulative;
  float sum = 0;
  for (const float value : p) cumulative.push_back(sum += value);
  std::vector<std::int64_t> labels;
  labels.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto thread = static_cast<std::uint64_t>(i);
    const float u = unit_interval(philox::words(seed_, thread, offset / 4).w[0]);
    const auto found = std::lower_bound(cumulative.begin(), cumulative.end(), u);
    // The sum may end a rounding below 1: what lies above belongs to the last category.
    const auto last = static_cast<std::int64_t>(cumulative.size()) - 1;
    labels.push_back(std::min<std::int64_t>(found - cumulative.begin(), last));
  }
  return labels;
}

}  // namespace kbench
