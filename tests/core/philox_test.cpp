#include "core/philox.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catch.h"
#include "core/sha256.h"

using namespace kbench;
using Json = nlohmann::json;

namespace {

const Json& golden() {
  static const Json json = [] {
    std::ifstream file(KBENCH_SOURCE_DIR "/tests/golden/inputs_h200.json");
    return Json::parse(file);
  }();
  return json;
}

/// Offset after an operation of the recorded generator.
std::uint64_t next_offset(const std::string& op, std::int64_t count, std::uint64_t offset) {
  return offset + (op == "multinomial" ? 4 : philox::increment(count, 4));
}

/// The word that element i is made of, and the one behind it.
struct Pair {
  std::uint32_t x, y;
};
Pair words_at(std::uint64_t seed, std::uint64_t offset, std::int64_t i, std::int64_t count,
              int per_call) {
  const philox::Place place = philox::place(i, philox::threads(count), per_call);
  const philox::Words words = philox::words(seed, place.thread, offset / 4 + place.call);
  const int first = place.lane * (4 / per_call);
  return {words.w[first], words.w[(first + 1) % 4]};
}

/// tensor.uniform_(-1, 1): 2u - 1, and 1 becomes -1.
std::string digest_of_uniforms(std::uint64_t seed, std::uint64_t offset, std::int64_t count) {
  Sha256 hash;
  for (std::int64_t i = 0; i < count; ++i) {
    const float u =
        std::fma(static_cast<float>(words_at(seed, offset, i, count, 4).x), 0x1p-32f, 0x1p-33f);
    const float value = std::fma(u, 2.0f, -1.0f);
    const float stored = value == 1.0f ? -1.0f : value;
    hash.update(&stored, sizeof stored);
  }
  return hash.hex();
}

/// torch.randint: one word a value, two where the range has 28 bits or more.
std::string digest_of_integers(std::uint64_t seed, std::uint64_t offset, const Json& draw) {
  const auto count = draw.at("numel").get<std::int64_t>();
  const auto low = static_cast<std::int64_t>(draw.at("args")[0].get<double>());
  const auto high = static_cast<std::int64_t>(draw.at("args")[1].get<double>());
  const auto range = static_cast<std::uint64_t>(high - low);
  const bool wide = range >= std::uint64_t{1} << 28;
  Sha256 hash;
  for (std::int64_t i = 0; i < count; ++i) {
    const Pair words = words_at(seed, offset, i, count, wide ? 2 : 4);
    const std::uint64_t word = wide ? std::uint64_t{words.x} << 32 | words.y : words.x;
    const std::int64_t value = low + static_cast<std::int64_t>(word % range);
    hash.update(&value, sizeof value);
  }
  return hash.hex();
}

}  // namespace

TEST_CASE("Philox4x32-10 gives the published vectors") {
  struct Row {
    std::uint64_t key, high, low;
    std::uint32_t words[4];
  };
  const std::uint64_t ones = ~std::uint64_t{0};
  for (const Row& row : {
           Row{0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
           Row{ones, ones, ones, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
           Row{0x299f31d0a4093822,
               0x0370734413198a2e,
               0x85a308d3243f6a88,
               {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
       }) {
    const philox::Words words = philox::words(row.key, row.high, row.low);
    for (int i = 0; i < 4; ++i) CHECK(words.w[i] == row.words[i]);
  }
}

TEST_CASE("a draw advances the generator by the increment of its launch") {
  struct Row {
    std::int64_t count, threads;
    std::uint64_t by_four, by_two;
  };
  for (const Row& row : {
           Row{0, 0, 0, 0},
           Row{1, 256, 4, 4},
           Row{256, 256, 4, 4},
           Row{257, 512, 4, 4},
           Row{270336, 270336, 4, 4},
           Row{270337, 270336, 4, 4},
           Row{540672, 270336, 4, 4},
           Row{540673, 270336, 4, 8},
           Row{1081344, 270336, 4, 8},
           Row{1081345, 270336, 8, 12},
           Row{167772160, 270336, 624, 1244},
       }) {
    CAPTURE(row.count);
    CHECK(philox::threads(row.count) == row.threads);
    CHECK(philox::increment(row.count, 4) == row.by_four);
    CHECK(philox::increment(row.count, 2) == row.by_two);
  }
}

TEST_CASE("every recorded operation ends at the recorded offset") {
  std::size_t checked = 0;
  for (const Json& draw : golden().at("rng")) {
    const auto offset = draw.at("offset").get<std::uint64_t>();
    const auto op = draw.at("op").get<std::string>();
    const auto count = draw.at("numel").get<std::int64_t>();
    CAPTURE(op, count, offset);
    CHECK(next_offset(op, count, offset) == draw.at("next_offset").get<std::uint64_t>());
    ++checked;
  }
  for (const Json& spec : golden().at("specs")) {
    std::uint64_t offset = 0;
    for (const Json& draw : spec.at("draws")) {
      const auto op = draw.at("op").get<std::string>();
      const auto count = draw.at("numel").get<std::int64_t>();
      CAPTURE(spec.at("spec").dump(), op, count);
      CHECK(draw.at("offset").get<std::uint64_t>() == offset);
      offset = next_offset(op, count, offset);
      CHECK(draw.at("next_offset").get<std::uint64_t>() == offset);
      ++checked;
    }
  }
  CHECK(checked > 100);
}

TEST_CASE("recorded uniforms and integers are reproduced bit for bit") {
  std::size_t checked = 0;
  for (const Json& draw : golden().at("rng")) {
    const auto op = draw.at("op").get<std::string>();
    if (op != "uniform_" && op != "randint") continue;
    const auto offset = draw.at("offset").get<std::uint64_t>();
    const auto count = draw.at("numel").get<std::int64_t>();
    const auto seed = draw.at("seed").get<std::uint64_t>();
    CAPTURE(op, count, offset, seed);
    const std::string digest = op == "uniform_" ? digest_of_uniforms(seed, offset, count)
                                                : digest_of_integers(seed, offset, draw);
    CHECK(digest == draw.at("sha256").get<std::string>());
    ++checked;
  }
  CHECK(checked > 30);
}
