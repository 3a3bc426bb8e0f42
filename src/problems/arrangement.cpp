// Draws orders, signs and powers of two on the host and hands them to one pass over the matrices.
// Must not know problems or why an input changes.
#include "problems/arrangement.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "core/error.h"

namespace kbench {
namespace {

constexpr int k_largest_power = 8;
constexpr std::uint32_t k_powers = 2 * k_largest_power + 1;

/// A uniformly random order of `places` (Fisher and Yates).
void shuffle(std::span<std::int32_t> places, SplitMix& random) {
  for (std::size_t i = places.size(); i > 1; --i) {
    std::swap(places[i - 1], places[random.below(static_cast<std::uint32_t>(i))]);
  }
}

void draw_signs(std::span<float> signs, SplitMix& random) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < signs.size(); ++i) {
    if (i % 64 == 0) bits = random.next();
    signs[i] = (bits >> (i % 64) & 1) != 0 ? -1.0f : 1.0f;
  }
}

}  // namespace

std::uint64_t SplitMix::next() {
  state_ += 0x9E3779B97F4A7C15u;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

std::uint32_t SplitMix::below(std::uint32_t bound) {
  return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
}

std::uint64_t hash_pair(std::uint64_t a, std::uint64_t b) {
  return SplitMix(SplitMix(a).next() ^ b).next();
}

Arrangement::Arrangement(Device& device, std::int64_t n, const std::vector<MatrixMoves>& moves,
                         std::uint64_t seed)
    : device_(&device), batch_(static_cast<std::int64_t>(moves.size())), n_(n) {
  KBENCH_ASSERT(n >= 1 && std::in_range<std::int32_t>(n));
  const auto size = static_cast<std::size_t>(n);
  const std::size_t count = moves.size() * size;
  std::vector<std::int32_t> order(count);
  std::vector<float> rows(count), columns(count);
  for (std::size_t b = 0; b < moves.size(); ++b) {
    SplitMix random(hash_pair(seed, b));
    const auto places = std::span(order).subspan(b * size, size);
    const auto row = std::span(rows).subspan(b * size, size);
    const auto column = std::span(columns).subspan(b * size, size);
    std::iota(places.begin(), places.end(), 0);
    if (moves[b].moves == Moves::order) shuffle(places, random);
    draw_signs(column, random);
    if (moves[b].moves == Moves::signs_apart) {
      draw_signs(row, random);
    } else {
      std::copy(column.begin(), column.end(), row.begin());
    }
    if (!moves[b].scale) continue;
    const float power =
        std::ldexp(1.0f, static_cast<int>(random.below(k_powers)) - k_largest_power);
    for (float& factor : row) factor *= power;
  }
  order_ = to_device<std::int32_t>(device, order);
  rows_ = to_device<float>(device, rows);
  columns_ = to_device<float>(device, columns);
}

void Arrangement::apply(const float* a, float* out) const {
  device_->ops().rearrange(a, batch_, n_, order_.get(), {rows_.get(), n_}, {columns_.get(), n_},
                           out);
}

double Arrangement::bytes(std::int64_t batch, std::int64_t n) {
  return 12 * static_cast<double>(batch) * static_cast<double>(n);
}

}  // namespace kbench
