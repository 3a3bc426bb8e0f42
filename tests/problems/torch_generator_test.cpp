// What the golden file cannot show: tensors beyond one fill, skipped draws, labels of small
// batches.
#include "problems/torch_generator.h"

#include <algorithm>
#include <set>

#include "core/philox.h"
#include "device/device_cases.h"
#include "problems/eigh_py.h"
#include "problems/qr_v2.h"

namespace kbench::test {
namespace {

struct Piece {
  std::uint64_t offset;
  std::int64_t first, length;
  bool operator==(const Piece&) const = default;
};

TEST_CASE("a tensor beyond the limit reserves one unused increment, then one for each half") {
  std::vector<Piece> pieces;
  const auto note = [&](std::uint64_t offset, std::int64_t first, std::int64_t length) {
    pieces.push_back({offset, first, length});
  };
  CHECK(philox::visit_fills(100, 1000, 1000, 4, note) == 104);
  CHECK(pieces == std::vector<Piece>{{100, 0, 1000}});
  pieces.clear();
  CHECK(philox::visit_fills(100, 1001, 1000, 4, note) == 112);
  CHECK(pieces == std::vector<Piece>{{104, 0, 500}, {108, 500, 501}});
  pieces.clear();
  // 2003 -> 1001 + 1002 -> each in two.
  CHECK(philox::visit_fills(0, 2003, 1000, 4, note) == 20);
  CHECK(pieces == std::vector<Piece>{{4, 0, 500}, {8, 500, 501}, {12, 1001, 501}, {16, 1502, 501}});
}

TEST_CASE("the offset of a draw beyond 2^29 elements counts every piece") {
  const auto device = open_host_device();
  TorchGenerator draws(*device, 7);
  const std::int64_t count = (std::int64_t{1} << 29) + 2;
  draws.skip_normal(count);
  CHECK(draws.offset() == philox::increment(count, 4) + 2 * philox::increment(count / 2, 4));
}

TEST_CASE("a skipped draw advances as the draw does") {
  const auto device = open_host_device();
  TorchGenerator drawn(*device, 7), skipped(*device, 7);
  const Buffer<float> out(*device, 1351683);
  for (const std::int64_t count : {1, 270337, 1351683}) {
    drawn.normal(count, out.get());
    skipped.skip_normal(count);
    CHECK(drawn.offset() == skipped.offset());
  }
}

TEST_CASE("integers of a wide range take two words, and so twice the calls") {
  const auto device = open_host_device();
  const struct {
    std::int64_t high, count;
    std::uint64_t offset;
  } cases[] = {{(1 << 28) - 1, 540673, 4}, {1 << 28, 540672, 4}, {1 << 28, 540673, 8}};
  for (const auto& c : cases) {
    TorchGenerator draws(*device, 3);
    draws.integers(0, c.high, c.count);
    CHECK(draws.offset() == c.offset);
  }
}

TEST_CASE("a mixed batch holds the first profile and, from two matrices on, another") {
  const auto device = open_host_device();
  for (const auto table : {qr_v2_cases(), eigh_py_cases()}) {
    std::set<std::int64_t> seen;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      for (const std::int64_t batch : {1, 2, 3}) {
        TorchGenerator draws(*device, seed);
        const auto labels = mixed_labels(draws, table, batch);
        REQUIRE(static_cast<std::int64_t>(labels.size()) == batch);
        seen.insert(labels.begin(), labels.end());
        if (batch == 1) continue;
        REQUIRE(std::count(labels.begin(), labels.end(), 0) >= 1);
        REQUIRE(std::count(labels.begin(), labels.end(), 0) < batch);
      }
    }
    CHECK(*seen.begin() == 0);
    const auto profiles = std::count_if(table.begin(), table.end(),
                                        [](const MatrixCase& row) { return row.mix_weight > 0; });
    CHECK(static_cast<std::ptrdiff_t>(seen.size()) == profiles);
  }
}

}  // namespace
}  // namespace kbench::test
