// Draws and ranges against the element-to-counter mapping written out, one element at a time.
#include <algorithm>
#include <cmath>

#include "core/philox.h"
#include "device/device_cases.h"

namespace kbench::test {
namespace {

constexpr std::uint64_t k_seed = 0x123456789abcdefULL;

// Element i of `count` uniforms on [-1, 1), straight from core/philox.h.
float uniform_at(std::int64_t i, std::int64_t count, std::uint64_t offset) {
  const auto place = philox::place(i, philox::threads(count), 4);
  const auto words = philox::words(k_seed, place.thread, offset / 4 + place.call);
  const auto x = static_cast<float>(words.w[place.lane]);
  const auto u = static_cast<float>(double{x} * 0x1p-32 + 0x1p-33);
  const auto value = static_cast<float>(2 * double{u} - 1);
  return value == 1.0f ? -1.0f : value;
}

KBENCH_DEVICE_TEST(uniform_mapping,
                   "every element of a draw comes from its own counter, lane and call") {
  // Around the reference launch's 270336 threads and its 4 draws a call.
  for (const std::int64_t count : {1, 257, 270337, 1081345, 2500001}) {
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{1} << 36}) {
      CAPTURE(count, offset);
      const Buffer<float> out(device, count);
      device.ops().uniform(k_seed, offset, count, out.get());
      const auto values = to_host(device, out.get(), count);
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        if (values[at(i)] != uniform_at(i, count, offset)) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }
}

KBENCH_DEVICE_TEST(normal_moments, "normals have mean 0, variance 1 and no NaN, and lanes differ") {
  const std::int64_t count = 1500001;
  const Buffer<float> out(device, count);
  device.ops().normal(k_seed, 8, count, out.get());
  const auto values = to_host(device, out.get(), count);
  double sum = 0, squares = 0;
  for (const float value : values) {
    sum += double{value};
    squares += double{value} * double{value};
  }
  const auto n = static_cast<double>(count);
  // Five standard deviations of the mean and of the variance.
  CHECK(std::abs(sum / n) < 5 / std::sqrt(n));
  CHECK(std::abs(squares / n - 1) < 5 * std::sqrt(2 / n));
  CHECK(values[0] != values[270336]);
  CHECK(values[0] != values[2 * 270336]);
}

KBENCH_DEVICE_TEST(draw_of_nothing, "a draw of no elements touches nothing") {
  device.ops().normal(k_seed, 0, 0, nullptr);
  device.ops().uniform(k_seed, 0, 0, nullptr);
  device.synchronize();
}

KBENCH_DEVICE_TEST(range_ends, "ranges hit both ends and are empty for no points") {
  CHECK(device.ops().linspace(-1, 1, 0).empty());
  CHECK(device.ops().logspace(-1, 1, 0).empty());
  CHECK(device.ops().linspace(3, 5, 1) == std::vector<float>{3});
  CHECK(device.ops().logspace(-2, 5, 1) == std::vector<float>{0.01f});
  for (const std::int64_t n : {2, 3, 33, 4096}) {
    const auto line = device.ops().linspace(-1, 0.3f, n), power = device.ops().logspace(-4, 0, n);
    CHECK(line.front() == -1.0f);
    CHECK(line.back() == 0.3f);
    CHECK(power.back() == 1.0f);
    CHECK(std::is_sorted(line.begin(), line.end()));
    CHECK(std::is_sorted(power.begin(), power.end()));
  }
}

}  // namespace
}  // namespace kbench::test
