// Exact changes of matrices that keep what makes them hard: rows and columns in another order and
// with other signs, and a power of two. For inputs that are too dear to generate again.
#pragma once

#include <cstdint>
#include <vector>

#include "device/device.h"
#include "device/ops.h"

namespace kbench {

/// SplitMix64 (Steele, Lea, Flood 2014): the output function on its own is a good hash of 64 bits.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// Uniform on [0, bound) up to 2^-32; 1 <= bound < 2^32.
  std::uint32_t below(std::uint32_t bound);

 private:
  std::uint64_t state_;
};

/// A hash of two numbers, for seeds that are no arithmetic progression.
std::uint64_t hash_pair(std::uint64_t a, std::uint64_t b);

/// What may change in a matrix.
enum class Moves {
  signs_apart,  ///< rows and columns have signs of their own: D A E
  signs,        ///< the same for both, which keeps symmetry and spectrum: D A D
  order,        ///< D P A P^T D: symmetry and spectrum stay, a band or a grading does not
};

/// One kind of change for each matrix of a batch.
struct MatrixMoves {
  Moves moves = Moves::signs;
  bool scale = false;  ///< also times 2^k, |k| <= 8
};

/// A change of every matrix of a batch, drawn from a seed and kept on the device: 12 bytes a row.
class Arrangement {
 public:
  /// `moves` holds one entry a matrix.
  Arrangement(Device& device, std::int64_t n, const std::vector<MatrixMoves>& moves,
              std::uint64_t seed);

  /// Enqueues out = the changed matrices of `a`; not in place. Allocates and waits for nothing.
  void apply(const float* a, float* out) const;

  /// Device bytes of one arrangement.
  static double bytes(std::int64_t batch, std::int64_t n);

 private:
  Device* device_;
  std::int64_t batch_, n_;
  Buffer<std::int32_t> order_;
  Buffer<float> rows_, columns_;
};

}  // namespace kbench
