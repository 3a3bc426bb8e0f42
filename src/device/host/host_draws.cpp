// Random draws and ranges of the host device, as close to torch's CUDA generator as a CPU comes:
// words, uniforms and linspace are equal, normals differ by the special-function unit's own error.
// Knows counters and bits; knows no problem and no matrix.
#include <cmath>
#include <numbers>

#include "core/philox.h"
#include "device/host/host_ops.h"
#include "device/host/parallel.h"

namespace kbench::host {
namespace {

constexpr int k_per_call = 4;
constexpr std::int64_t k_philox_steps = 120;

// (0, 1]: fma is exact in double here (a 24-bit word plus one half), so one rounding to float is
// it.
float unit_interval(std::uint32_t word) {
  return static_cast<float>(double{static_cast<float>(word)} * 0x1p-32 + 0x1p-33);
}

float angle(std::uint32_t word) {
  const float step = 6.2831855f * 0x1p-32f;
  return std::fma(static_cast<float>(word), step, step / 2);
}

// The argument the special-function unit sees: v / (2 pi) in turns, rounded toward zero. The
// product of two floats is exact in double.
double turns(float v) {
  const double exact = double{v} * double{0x1.45f306p-3f};
  float rounded = static_cast<float>(exact);
  if (double{rounded} > exact) rounded = std::nextafter(rounded, 0.0f);
  return rounded;
}

// Box-Muller of one pair of words. Adding 0 turns the -0 of u = 1 into +0, as torch does.
void normal_pair(std::uint32_t x, std::uint32_t y, float& even, float& odd) {
  const float radius = std::sqrt(-2.0f * std::log(unit_interval(x)));
  const double turn = 2 * std::numbers::pi * turns(angle(y));
  even = radius * static_cast<float>(std::sin(turn)) + 0.0f;
  odd = radius * static_cast<float>(std::cos(turn)) + 0.0f;
}

struct NormalLanes {
  static void make(const philox::Words& words, int lanes, float* out) {
    normal_pair(words.w[0], words.w[1], out[0], out[1]);
    if (lanes > 2) normal_pair(words.w[2], words.w[3], out[2], out[3]);
  }
};

struct UniformLanes {
  static void make(const philox::Words& words, int lanes, float* out) {
    for (int lane = 0; lane < lanes; ++lane) {
      // One rounding for 2u - 1; the range is half open, so the upper end becomes the lower.
      const float value = std::fma(unit_interval(words.w[lane]), 2.0f, -1.0f);
      out[lane] = value == 1.0f ? -1.0f : value;
    }
  }
};

// One fill: element call * 4T + lane * T + t is lane `lane` of thread t's call number `call`, so
// one philox call serves up to four elements.
template <class Lanes>
void fill_draws(std::uint64_t seed, std::uint64_t offset, std::int64_t count, float* out) {
  if (count <= 0) return;
  const std::int64_t threads = philox::threads(count);
  const std::int64_t stride = threads * k_per_call;
  const std::int64_t calls = (count + stride - 1) / stride;
  parallel_for(calls * threads, k_philox_steps, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t call = k / threads, thread = k % threads;
      const std::int64_t first = call * stride + thread;
      if (first >= count) continue;
      const auto lanes = static_cast<int>(
          std::min<std::int64_t>(k_per_call, (count - first + threads - 1) / threads));
      float values[k_per_call];
      Lanes::make(philox::words(seed, static_cast<std::uint64_t>(thread),
                                offset / 4 + static_cast<std::uint64_t>(call)),
                  lanes, values);
      for (int lane = 0; lane < lanes; ++lane) out[first + lane * threads] = values[lane];
    }
  });
}

template <class Lanes>
void draw(std::uint64_t seed, std::uint64_t offset, std::int64_t count, float* out) {
  philox::visit_fills(offset, count, philox::k_float_fill, k_per_call,
                      [&](std::uint64_t piece_offset, std::int64_t first, std::int64_t length) {
                        fill_draws<Lanes>(seed, piece_offset, length, out + first);
                      });
}

}  // namespace

void HostOps::normal(std::uint64_t seed, std::uint64_t offset, std::int64_t count, float* out) {
  draw<NormalLanes>(seed, offset, count, out);
}

void HostOps::uniform(std::uint64_t seed, std::uint64_t offset, std::int64_t count, float* out) {
  draw<UniformLanes>(seed, offset, count, out);
}

std::vector<float> HostOps::linspace(float start, float end, std::int64_t n) {
  std::vector<float> values(static_cast<std::size_t>(n), start);
  if (n <= 1) return values;
  const float step = (end - start) / static_cast<float>(n - 1);
  // Counted from the nearer end, so that both ends are exact.
  for (std::int64_t i = 0; i < n; ++i) {
    values[static_cast<std::size_t>(i)] = i < n / 2
                                              ? std::fma(step, static_cast<float>(i), start)
                                              : std::fma(-step, static_cast<float>(n - 1 - i), end);
  }
  return values;
}

std::vector<float> HostOps::logspace(float start, float end, std::int64_t n) {
  if (n == 1) return {static_cast<float>(std::pow(10.0, double{start}))};
  std::vector<float> values = linspace(start, end, n);
  for (float& value : values) value = std::pow(10.0f, value);
  return values;
}

}  // namespace kbench::host
