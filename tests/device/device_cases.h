// One body of a test, run on the host and, with the tag [gpu], on the CUDA device; and the arrays
// such bodies compare.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "catch.h"
#include "device/device.h"
#include "device/ops.h"

namespace kbench::test {

/// CUDA device 0; throws when there is none, so that a test of label `gpu` cannot pass without one.
inline std::unique_ptr<Device> open_gpu() {
  std::string note;
  return open_device({DeviceRequest::Kind::cuda, 0}, &note);
}

/// Uniform on [-1, 1), the same on every machine.
inline std::vector<float> random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) {
    value = static_cast<float>(static_cast<double>(engine()) * 0x1p-31 - 1);
  }
  return values;
}

/// Number of elements whose bits differ; sizes must be equal.
inline std::int64_t differing(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  std::int64_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) ++count;
  }
  return count;
}

struct Size {
  std::int64_t batch, n;
};
/// Odd sizes, the smallest, and batches beyond the largest grid dimension of a GPU's y and z.
inline std::vector<Size> sizes() {
  return {{1, 1}, {3, 2}, {3, 33}, {1, 70}, {2, 150}, {70001, 1}, {70001, 2}};
}

inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace kbench::test

#define KBENCH_DEVICE_TEST(function, name)          \
  static void function(kbench::Device& device);     \
  TEST_CASE(name " (host)") {                       \
    const auto device = kbench::open_host_device(); \
    function(*device);                              \
  }                                                 \
  TEST_CASE(name " (cuda)", "[gpu]") {              \
    const auto device = kbench::test::open_gpu();   \
    function(*device);                              \
  }                                                 \
  static void function(kbench::Device& device)
