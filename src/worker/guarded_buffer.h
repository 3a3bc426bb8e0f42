// Device arrays that a kernel writes, with guard regions before and after each, so that a write
// outside an array is found and named.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device.h"

namespace kbench {

constexpr std::int64_t k_guard_bytes = 4096;
constexpr std::uint8_t k_guard_byte = 0xC3;
constexpr std::int64_t k_data_alignment = 256;

/// A set of arrays in one allocation: guard, array, guard, guard, array, guard, ... The guards of
/// two neighbours lie side by side, so that one look covers both. Data are 256-byte aligned; the
/// guard after an array begins with its next byte.
class GuardedBuffers {
 public:
  explicit GuardedBuffers(Device& device) : device_(&device) {}

  /// Adds an array of `bytes` > 0 before `allocate`; `name` completes the sentence "wrote 4 bytes
  /// after ...". Returns its index.
  std::size_t add(std::string name, std::int64_t bytes);
  /// Allocates all arrays at once and writes the guards. Contents of the arrays are undefined.
  void allocate();

  void* data(std::size_t index) const;
  std::int64_t bytes(std::size_t index) const { return arrays_[index].bytes; }
  std::size_t size() const { return arrays_.size(); }
  std::int64_t total_bytes() const { return end_; }
  /// Bytes from the start of array `first` to the end of array `last`, guards between included.
  std::int64_t span_bytes(std::size_t first, std::size_t last) const {
    return arrays_[last].offset + arrays_[last].bytes - arrays_[first].offset;
  }

  /// `wrote 4 bytes after output `H` (call 3)`, or empty when every guard is intact. Waits.
  std::string breach() const;

 private:
  struct Array {
    std::string name;
    std::int64_t offset = 0, bytes = 0;
  };
  struct Gap {
    std::int64_t begin = 0, end = 0;
  };
  /// The guard bytes between array `index - 1` and array `index`.
  Gap gap(std::size_t index) const;
  std::string describe_breach(std::size_t index) const;

  Device* device_;
  std::vector<Array> arrays_;
  std::int64_t end_ = k_guard_bytes;
  Buffer<std::uint8_t> memory_;
};

}  // namespace kbench
