// The blocked kernel of qr_v2 on the emulated device: every kind of matrix through the Gram panels
// and through the exact ones, at sizes that reach each path, against the gates of the problem.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "blocked_run.h"
#include "catch.h"

namespace kbench {
namespace {

using emulated::Order;

struct Kind {
  const char* name;
  std::function<void(std::vector<float>&, int)> shape;  // of a matrix of normal draws
  bool exact;                                           // must be left to the exact panels
};

void each(std::vector<float>& a, int n, const std::function<float(float, int, int)>& of) {
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < n; ++c) {
      float& x = a[static_cast<std::size_t>(r * n + c)];
      x = of(x, r, c);
    }
  }
}

void repeat_columns(std::vector<float>& a, int n) {
  for (int r = 0; r < n; ++r) {
    for (int c = 1; c < n; c += 2) {
      a[static_cast<std::size_t>(r * n + c)] = a[static_cast<std::size_t>(r * n + c - 1)];
    }
  }
}

// Columns that agree to four digits.
void near_collinear(std::vector<float>& a, int n) {
  for (int r = 0; r < n; ++r) {
    const float base = a[static_cast<std::size_t>(r * n)];
    for (int c = 0; c < n; ++c) {
      float& x = a[static_cast<std::size_t>(r * n + c)];
      x = base + 1e-4f * (c == 0 ? 0 : x);
    }
  }
}

std::vector<Kind> kinds() {
  const auto by = [](std::function<float(float, int, int)> of) {
    return [of](std::vector<float>& a, int n) { each(a, n, of); };
  };
  return {
      {"dense", by([](float x, int, int) { return x; }), false},
      {"zero", by([](float, int, int) { return 0.0f; }), false},
      {"identity", by([](float, int r, int c) { return r == c ? 1.0f : 0.0f; }), false},
      {"upper", by([](float x, int r, int c) { return r <= c ? x : 0.0f; }), false},
      {"zero columns", by([](float x, int, int c) { return c % 5 == 3 ? 0.0f : x; }), true},
      {"graded columns",
       by([](float x, int, int c) { return x * std::exp2(static_cast<float>(-c)); }), false},
      {"graded rows",
       by([](float x, int r, int) { return x * std::exp2(static_cast<float>(-r) / 8); }), false},
      {"band", by([](float x, int r, int c) {
         return r == c ? x + 1 : std::abs(r - c) <= 4 ? x : 0.0f;
       }),
       false},
      {"one huge column", by([](float x, int, int c) { return c == 7 ? x * 0x1p90f : x; }), false},
      {"a late huge column", by([](float x, int, int c) { return c == 40 ? x * 0x1p90f : x; }),
       false},
      {"subnormal", by([](float x, int, int) { return x * 0x1p-128f; }), false},
      {"nearly collinear", near_collinear, false},
      {"equal columns", repeat_columns, true},
      {"all ones", by([](float, int, int) { return 1.0f; }), true},
  };
}

std::vector<float> draw(int n, unsigned seed) {
  std::mt19937 source(seed);
  std::normal_distribution<float> normal;
  std::vector<float> a(static_cast<std::size_t>(n * n));
  for (float& x : a) x = normal(source);
  return a;
}

bool any_doubt(const Factored& factored) {
  return std::any_of(factored.doubtful.begin(), factored.doubtful.end(),
                     [](int flag) { return flag != 0; });
}

void check_gates(const std::vector<float>& a, const Factored& factored, int n) {
  const Gates gates = gates_of(a, factored, n, 0);
  CAPTURE(gates.factor, gates.orthogonality);
  CHECK(gates.factor <= 0.5);
  CHECK(gates.orthogonality <= 0.05);
}

TEST_CASE("every kind of matrix is factored within the gates, by the panels meant for it") {
  for (const Kind& kind : kinds()) {
    for (const int n : {65, 132, 163}) {
      CAPTURE(kind.name, n);
      std::vector<float> a = draw(n, 17u + static_cast<unsigned>(n));
      kind.shape(a, n);
      const Factored factored = factor_emulated(a, 1, n, {}, Order::forward);
      check_gates(a, factored, n);
      if (n > 128) CHECK(any_doubt(factored) == kind.exact);  // a square block may be doubtful
    }
  }
}

TEST_CASE("panels that share a multiprocessor factor every kind of matrix as well") {
  const int n = 132;
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name);
    std::vector<float> a = draw(n, 17u + static_cast<unsigned>(n));
    kind.shape(a, n);
    std::vector<float> two = a;
    two.insert(two.end(), a.begin(), a.end());
    const Factored factored = factor_emulated(two, 2, n, {1, false}, Order::forward);
    check_gates(a, factored, n);
    CHECK(any_doubt(factored) == kind.exact);
    CHECK(std::equal(factored.tau.begin(), factored.tau.begin() + n, factored.tau.begin() + n));
  }
}

TEST_CASE("a device with slow FP64 uses the exact panels alone") {
  const int n = 132;
  const std::vector<float> a = draw(n, 3);
  const Factored factored = factor_emulated(a, 1, n, {132, true, false}, Order::forward);
  CHECK(factored.doubtful.empty());
  check_gates(a, factored, n);
}

TEST_CASE("matrices of at most one panel or one block are factored") {
  for (const int n : {1, 2, 31, 32, 33, 64}) {
    CAPTURE(n);
    const std::vector<float> a = draw(n, static_cast<unsigned>(n));
    check_gates(a, factor_emulated(a, 1, n, {}, Order::forward), n);
  }
}

TEST_CASE("the order in which threads run changes no bit") {
  const int n = 133;
  std::vector<float> a = draw(n, 5);
  const Factored first = factor_emulated(a, 1, n, {}, Order::forward);
  for (const Order order : {Order::backward, Order::warps_backward, Order::lanes_backward}) {
    const Factored other = factor_emulated(a, 1, n, {}, order);
    CHECK(first.h == other.h);
    CHECK(first.tau == other.tau);
  }
}

TEST_CASE("blocks that share a panel factor it within the gates, whichever panel it is") {
  const int n = 514;  // 512 rows and more are shared by two blocks
  for (const bool equal : {false, true}) {
    std::vector<float> a = draw(n, 9);
    if (equal) repeat_columns(a, n);
    const Factored factored = factor_emulated(a, 1, n, {}, Order::warps_backward);
    check_gates(a, factored, n);
    CHECK(any_doubt(factored) == equal);
  }
}

TEST_CASE("panels ahead of the updates factor within the gates, in a copy of their own") {
  // The strip ahead is shared by eight warps, or on a small device by four.
  for (const int multiprocessors : {132, 16}) {
    for (const int n : {129, 193, 261, 332}) {
      for (const bool equal : {false, true}) {
        CAPTURE(multiprocessors, n, equal);
        std::vector<float> a = draw(n, 11);
        if (equal) repeat_columns(a, n);
        const Factored factored =
            factor_emulated(a, 1, n, {multiprocessors, true, true, true}, Order::backward);
        check_gates(a, factored, n);
        CHECK(any_doubt(factored) == equal);
        CHECK(static_cast<int>(factored.doubtful.size()) == (n - 1) / 64);  // all but the last
      }
    }
  }
}

TEST_CASE("pairs of blocks are applied at once within the gates") {
  // Few matrices share the rows of a strip; on one multiprocessor a block has them all.
  for (const int multiprocessors : {132, 1}) {
    for (const int n : {129, 193, 261, 332}) {
      for (const bool equal : {false, true}) {
        CAPTURE(multiprocessors, n, equal);
        std::vector<float> a = draw(n, 23);
        if (equal) repeat_columns(a, n);
        const EmulatedFacts facts{multiprocessors, true, true, false, true};
        const Factored factored = factor_emulated(a, 1, n, facts, Order::lanes_backward);
        check_gates(a, factored, n);
        CHECK(any_doubt(factored) == equal);
        CHECK(static_cast<int>(factored.doubtful.size()) == (n - 1) / 64);  // all but the last
      }
    }
  }
}

TEST_CASE("pairs of blocks factor every kind of matrix") {
  const int n = 212;
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name);
    std::vector<float> a = draw(n, 29);
    kind.shape(a, n);
    check_gates(a, factor_emulated(a, 1, n, {132, true, true, false, true}, Order::forward), n);
  }
}

TEST_CASE("applies by warpgroups factor within the gates, alone, in pairs and ahead") {
  for (const int n : {136, 264, 336, 448}) {
    for (const int multiprocessors : {132, 1}) {
      for (const bool pairs : {false, true}) {
        for (const bool ahead : {false, true}) {
          if (ahead && multiprocessors == 1) continue;
          CAPTURE(n, multiprocessors, pairs, ahead);
          const std::vector<float> a = draw(n, 37);
          const EmulatedFacts facts{multiprocessors, true, true, ahead, pairs, true};
          check_gates(a, factor_emulated(a, 1, n, facts, Order::backward), n);
        }
      }
    }
  }
}

TEST_CASE("applies by warpgroups factor every kind of matrix, in every order of threads alike") {
  const int n = 208;
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name);
    std::vector<float> a = draw(n, 41);
    kind.shape(a, n);
    const EmulatedFacts facts{132, true, true, false, true, true};
    const Factored factored = factor_emulated(a, 1, n, facts, Order::forward);
    check_gates(a, factored, n);
    if (kind.exact) continue;
    CHECK(factored.h == factor_emulated(a, 1, n, facts, Order::warps_backward).h);
  }
}

TEST_CASE("applies by warpgroups lift small columns, and no others") {
  for (const int n : {200, 520}) {
    for (const bool ahead : {false, true}) {
      CAPTURE(n, ahead);
      const EmulatedFacts facts{132, true, true, ahead, true, true};
      std::vector<float> a = draw(n, 43);
      // BF16 pairs end at 2^-133: unlifted, these numbers would keep some 5 of their 17 bits.
      for (float& x : a) x *= 0x1p-128f;
      check_gates(a, factor_emulated(a, 1, n, facts, Order::lanes_backward), n);
      // Lifted, the last eight rows would overflow; where blocks share the rows, they are the
      // last's.
      a = draw(n, 43);
      each(a, n, [n](float x, int r, int) { return x * (r < n - 8 ? 0x1p-70f : 0x1p60f); });
      check_gates(a, factor_emulated(a, 1, n, facts, Order::forward), n);
    }
  }
}

TEST_CASE("a device of few multiprocessors has a plan by warpgroups as well") {
  const int n = 520;
  for (const int multiprocessors : {8, 16, 24}) {
    for (const int batch : {1, 2, 3}) {
      CAPTURE(multiprocessors, batch);
      CHECK(unordered_launches(batch, n, {multiprocessors, true, true, true, true, true}) == "");
    }
  }
}

TEST_CASE("the order in which threads run changes no bit of pairs") {
  const int n = 332;
  const std::vector<float> a = draw(n, 31);
  const EmulatedFacts facts{132, true, true, false, true};
  const Factored first = factor_emulated(a, 1, n, facts, Order::forward);
  for (const Order order : {Order::backward, Order::warps_backward}) {
    CHECK(first.h == factor_emulated(a, 1, n, facts, order).h);
  }
}

TEST_CASE("launches that touch the same memory have an order, looking ahead or not") {
  for (const int n : {129, 193, 257, 332, 336, 513, 520, 584, 2048, 4097, 4160, 4163}) {
    for (const bool look_ahead : {false, true}) {
      for (const bool pairs : {false, true}) {
        for (const bool warpgroups : {false, true}) {
          CAPTURE(n, look_ahead, pairs, warpgroups);
          const EmulatedFacts facts{132, true, true, look_ahead, pairs, warpgroups};
          CHECK(unordered_launches(2, n, facts) == "");
        }
      }
    }
  }
}

TEST_CASE("a strip ahead of numbers too small for their low parts is applied within the gates") {
  const int n = 197;
  for (const int multiprocessors : {132, 16}) {
    CAPTURE(multiprocessors);
    std::vector<float> a = draw(n, 13);
    // BF16 pairs end at 2^-133: unlifted, these numbers would keep some 5 of their 17 bits.
    for (float& x : a) x *= 0x1p-128f;
    check_gates(
        a, factor_emulated(a, 1, n, {multiprocessors, true, true, true}, Order::warps_backward), n);
  }
}

TEST_CASE("a strip ahead is not lifted where only the last of its blocks has large numbers") {
  const int n = 514;
  for (const int multiprocessors : {132, 16}) {
    CAPTURE(multiprocessors);
    std::vector<float> a = draw(n, 13);
    // Lifted, the last two rows would overflow; they are warp 32's, or with 4 warps a block 8's.
    each(a, n, [](float x, int r, int) { return x * (r < 512 ? 0x1p-70f : 0x1p60f); });
    check_gates(
        a, factor_emulated(a, 1, n, {multiprocessors, true, true, true}, Order::warps_backward), n);
  }
}

TEST_CASE("strips of more rows than shared memory holds are applied within the gates") {
  for (const int n : {196, 197}) {
    for (const float scale : {1.0f, 0x1p-64f, 0x1p-128f}) {
      CAPTURE(n, scale);
      std::vector<float> a = draw(n, 13);
      for (float& x : a) x *= scale;
      check_gates(a, factor_emulated(a, 1, n, {1, false}, Order::warps_backward), n);
    }
  }
}

TEST_CASE("a matrix is factored alike wherever it stands in a batch") {
  const int n = 100;
  std::vector<float> a = draw(n, 1), ones(a.size(), 1.0f), b = draw(n, 2);
  std::vector<float> batch;
  for (const auto* matrix : {&a, &ones, &b})
    batch.insert(batch.end(), matrix->begin(), matrix->end());
  const Factored one = factor_emulated(b, 1, n, {}, Order::forward);
  const Factored all = factor_emulated(batch, 3, n, {}, Order::forward);
  CHECK(std::equal(one.h.begin(), one.h.end(), all.h.begin() + 2 * n * n));
  CHECK(all.doubtful == std::vector<int>{0, 1, 0});
}

TEST_CASE("a value that is not finite terminates and shows in the factor") {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const int at : {0, 70, 99 * 100 + 20}) {
      CAPTURE(bad, at);
      std::vector<float> a = draw(100, 4);
      a[static_cast<std::size_t>(at)] = bad;
      const Factored factored = factor_emulated(a, 1, 100, {}, Order::forward);
      CHECK_FALSE(std::all_of(factored.h.begin(), factored.h.end(),
                              [](float x) { return std::isfinite(x); }));
    }
  }
}

}  // namespace
}  // namespace kbench
