// Values that torch 2.11 produced on an H200, from tests/golden/inputs_h200.json, and how to
// compare with them.
#pragma once

#include <bit>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/sha256.h"

namespace kbench::test {

inline nlohmann::json golden() {
  std::ifstream file(KBENCH_SOURCE_DIR "/tests/golden/inputs_h200.json");
  return nlohmann::json::parse(file);
}

inline float from_bits(const nlohmann::json& hex) {
  return std::bit_cast<float>(
      static_cast<std::uint32_t>(std::stoul(hex.get<std::string>(), nullptr, 16)));
}

template <class T>
std::string sha256_of(const std::vector<T>& values) {
  return sha256_hex(values.data(), values.size() * sizeof(T));
}

}  // namespace kbench::test
