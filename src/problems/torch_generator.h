// torch's CUDA random generator as the generators of inputs see it: a seed, an offset that every
// draw advances, and the draws themselves.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace kbench {

/// One draw, for comparison with the reference: `randn`, `uniform_`, `randint` or `multinomial`.
struct Draw {
  std::string_view op;
  std::int64_t count = 0;
  std::uint64_t offset = 0, next_offset = 0;
};

/// Draws come in the order of calls. Floats are drawn on the device (device pointers); integers and
/// labels are exact on the host and returned.
class TorchGenerator {
 public:
  TorchGenerator(Device& device, std::uint64_t seed, std::uint64_t offset = 0)
      : device_(device), seed_(seed), offset_(offset) {}

  Device& device() const { return device_; }

  void normal(std::int64_t count, float* out);
  /// Advances as `normal` without drawing: for values that the case throws away.
  void skip_normal(std::int64_t count);
  /// Uniform on [-1, 1).
  void uniform(std::int64_t count, float* out);
  /// Integers of [low, high).
  std::vector<std::int64_t> integers(std::int64_t low, std::int64_t high, std::int64_t count);
  /// `count` categories with replacement; positive weights. One draw takes another path in torch
  /// (an exponential race) than several (inversion of the cumulative sum), and so it does here.
  std::vector<std::int64_t> multinomial(std::span<const float> weights, std::int64_t count);

  std::uint64_t offset() const { return offset_; }
  const std::vector<Draw>& log() const { return log_; }

 private:
  std::uint64_t advance(std::string_view op, std::int64_t count, std::uint64_t next_offset);

  Device& device_;
  std::uint64_t seed_, offset_;
  std::vector<Draw> log_;
};

}  // namespace kbench
