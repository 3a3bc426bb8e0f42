// SHA-256 (FIPS 180-4) of arrays, to name an input by its bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace kbench {

class Sha256 {
 public:
  Sha256();
  void update(const void* data, std::size_t bytes);
  /// 64 lower-case hexadecimal digits; the object is spent afterwards.
  std::string hex();

 private:
  void block(const std::uint8_t* data);
  std::array<std::uint32_t, 8> state_;
  std::array<std::uint8_t, 64> pending_{};
  std::size_t pending_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
};

std::string sha256_hex(const void* data, std::size_t bytes);

}  // namespace kbench
