#include "core/seed.h"

#include <limits>

#include "catch.h"
#include "core/expect_error.h"

using namespace kbench;
using kbench::test::error_of;

namespace {
constexpr std::int64_t k_largest = std::numeric_limits<std::int64_t>::max();
}

TEST_CASE("a case seed is paired with the secret seed exactly") {
  struct Row {
    std::int64_t seed, secret, paired;
  };
  for (const Row& row : {
           Row{0, 0, 0},
           Row{1, 0, 2},
           Row{43214, 0, 933789719},
           Row{43214, 1234, 987877790},
           Row{0, 2147483647, 2305843008139952128},
           Row{770005, 2147483647, 2307496877740565383},
           // The product before the halving leaves 63 bits, the result does not.
           Row{2000000000, 2000000000, 8000000004000000000},
       }) {
    CAPTURE(row.seed, row.secret);
    CHECK(combine_seed(row.seed, row.secret) == row.paired);
  }
}

TEST_CASE("a pairing that leaves 63 bits is refused and never wraps") {
  struct Row {
    std::int64_t seed, secret;
  };
  for (const Row& row :
       {Row{k_largest, 0}, Row{k_largest, 1}, Row{0, k_largest}, Row{k_largest, k_largest},
        Row{4294967296, 0}, Row{2147483648, 2147483648}, Row{-1, 5}, Row{5, -1}}) {
    CAPTURE(row.seed, row.secret);
    const auto said = error_of([&] { combine_seed(row.seed, row.secret); });
    CHECK(said.code == 113);
    CHECK_THAT(said.text, ContainsSubstring("out of range"));
  }
  // (2^32 - 1) 2^31 is the last sum that fits; the case seed on top decides.
  CHECK(combine_seed(0, 4294967295) == 9223372034707292160);
  CHECK(combine_seed(2147483647, 2147483648) == k_largest);
  CHECK(error_of([] { combine_seed(2147483648, 2147483647); }).code == 113);
}

TEST_CASE("measured inputs use the seed advanced by 42 before each one") {
  CHECK(measured_seed(1029, 0) == 1071);
  CHECK(measured_seed(1029, 49) == 1029 + 42 * 50);
  CHECK(measured_seed(k_largest - 42, 0) == k_largest);
  for (const std::int64_t seed : {k_largest, k_largest - 41, std::int64_t{-1}}) {
    CHECK(error_of([&] { measured_seed(seed, 0); }).code == 113);
  }
  CHECK(error_of([] { measured_seed(k_largest - 42, 1); }).code == 113);
  CHECK(error_of([] { measured_seed(0, k_largest); }).code == 113);
}

TEST_CASE("the number of inputs follows from 256 MiB") {
  struct Row {
    std::int64_t batch, n, count;
  };
  for (const Row& row :
       {Row{20, 32, 50}, Row{40, 176, 50}, Row{40, 352, 13}, Row{640, 512, 1}, Row{60, 1024, 1},
        Row{8, 2048, 2}, Row{2, 4096, 2}, Row{16, 512, 16}, Row{1, 1, 50}, Row{1, 8192, 1},
        Row{1, 8193, 1}, Row{k_largest, k_largest, 1}}) {
    CAPTURE(row.batch, row.n);
    CHECK(input_count(row.batch, row.n) == row.count);
  }
}
