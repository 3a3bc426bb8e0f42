// A batch cut into stretches that fit a memory limit, and memory sizes that cannot overflow.
#pragma once

#include <cstdint>

namespace kbench {

/// A batch in slices of nearly equal size: as few as `limit_bytes` allows at `matrix_bytes` a
/// matrix, at least one matrix each.
class Slices {
 public:
  Slices(std::int64_t batch, double matrix_bytes, double limit_bytes);

  /// Matrices of the largest slice.
  std::int64_t size() const { return size_; }

  /// Calls body(first, count) for each slice in order.
  template <class Body>
  void for_each(const Body& body) const {
    for (std::int64_t first = 0; first < batch_; first += size_) {
      body(first, first + size_ <= batch_ ? size_ : batch_ - first);
    }
  }

 private:
  std::int64_t batch_, size_;
};

/// Device memory that the buffers of a generator (`plant`), of a checker and of the test of a
/// user's input may take. A checker with what Ops keeps stays below 4 GB.
constexpr double k_generator_slice_bytes = 2e9;
constexpr double k_checker_slice_bytes = 3.2e9;
constexpr double k_validation_slice_bytes = 1e9;

/// Bytes of n x n matrices, as a double: sizes of impossible cases must compare, not overflow.
double matrix_bytes(std::int64_t n, double bytes_per_entry);

/// batch n^3, for nominal operation counts.
double batch_cubes(std::int64_t batch, std::int64_t n);

/// An upper bound of what Ops keeps for itself after operations on at most `count` matrices: panels
/// of a blocked Q (1280 n + 32 KiB bytes a matrix, cut off at 512 MiB), workspaces of 16 concurrent
/// factorisations (1 KiB a row), and partial column sums (16 bytes a column of a slice).
double ops_bytes(std::int64_t count, std::int64_t n);

/// Rounded up to whole bytes, the largest int64 where the value is larger.
std::int64_t to_bytes(double bytes);

}  // namespace kbench
