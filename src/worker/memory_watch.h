// Whether the memory that is taken grows from repeat to repeat.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace kbench {

/// Readings between the repeats of one case, when nothing runs and kbench itself holds the same.
/// What is taken once, or grows for a while and then rests (a library's workspace, a pool), is no
/// leak: only what grows in the first half of the calls and in the second.
class MemoryWatch {
 public:
  /// Whether a reading is worth its time after timed repeat `repeat` (from 1): few are.
  static bool wants(std::int64_t repeat) { return (repeat & (repeat - 1)) == 0; }

  /// `calls`: made so far, never less than before. `used_bytes`: as Device::used_bytes says.
  void add(std::int64_t calls, std::int64_t used_bytes);

  /// Bytes that a call leaves behind on average; 0 for a kernel that gives back what it takes, or
  /// keeps less than can be told from kbench's own lists. Empty below three readings.
  std::optional<double> leaked_bytes_per_call() const;

 private:
  struct Reading {
    std::int64_t calls, used_bytes;
  };
  std::vector<Reading> readings_;
};

}  // namespace kbench
