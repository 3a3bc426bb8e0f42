// Gates fed with numbers: limits, zero matrices, NaN, and the words of a failure.
#include "problems/gates.h"

#include <cmath>
#include <limits>

#include "catch.h"
#include "problems/slices.h"

namespace kbench::test {
namespace {

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double k_inf = std::numeric_limits<double>::infinity();

Verdict judged(std::vector<double> residuals, std::vector<double> scales) {
  Verdict verdict;
  judge(Gate{"factor", "norm1(R - Q^T A)", 0.5, std::move(residuals), std::move(scales)}, 10,
        verdict);
  return verdict;
}

TEST_CASE("a gate passes up to its limit and no further") {
  CHECK(judged({0.5}, {1}).error.empty());
  CHECK(judged({0.5}, {1}).worst_of_gate == 1);
  CHECK_FALSE(judged({std::nextafter(0.5, 1.0)}, {1}).error.empty());
}

TEST_CASE("only a residual of zero passes where zero is allowed") {
  CHECK(judged({0}, {0}).error.empty());
  CHECK(judged({0}, {0}).worst_of_gate == 0);
  CHECK_FALSE(judged({1e-300}, {0}).error.empty());
  CHECK(judged({1e-300}, {0}).worst_of_gate == k_inf);
}

TEST_CASE("NaN and infinity never pass, neither as residual nor as norm") {
  const struct {
    double residual, scale;
  } cases[] = {{k_nan, 1}, {k_inf, 1}, {0, k_nan}, {0, k_inf}, {k_nan, k_nan}, {k_inf, k_inf}};
  for (const auto& c : cases) {
    CAPTURE(c.residual, c.scale);
    const Verdict verdict = judged({0, c.residual, 0}, {1, c.scale, 1});
    CHECK_THAT(verdict.error, StartsWith("factor residual is not finite (matrix 1 of 3: "));
    CHECK(verdict.worst_of_gate == k_inf);
  }
  CHECK(std::isnan(largest_scaled(Gate{"g", "f", 1, {1, k_nan, 2}, {1, 1, 1}}, 3)));
}

TEST_CASE("each matrix is judged by its own norm, and the worst one is named") {
  // A norm of the batch's maximum would let the second matrix pass.
  const Verdict verdict = judged({1, 3, 2, 0.1}, {1e6, 1, 1, 1});
  CHECK(verdict.error ==
        "factor residual is too large (matrix 1 of 4: norm1(R - Q^T A) = 3, allowed 0.5, scaled "
        "2.52e+06); 2 of 4 matrices fail");
  CHECK(verdict.worst_of_gate == 6);
  CHECK(verdict.worst_gate == "factor");
}

TEST_CASE("the first failed gate speaks, the worst ratio counts") {
  Verdict verdict;
  judge(Gate{"first", "a", 1, {2}, {1}}, 1, verdict);
  judge(Gate{"second", "b", 1, {9}, {1}}, 1, verdict);
  CHECK_THAT(verdict.error, StartsWith("first residual"));
  CHECK(verdict.worst_gate == "second");
  CHECK(verdict.worst_of_gate == 9);
  conclude({}, 1, 1, verdict);
  CHECK_FALSE(verdict.passed);
  CHECK(verdict.message.empty());
}

TEST_CASE("the pass message lists limits, figures, batch and n with three digits") {
  Verdict verdict;
  judge(Gate{"factor", "f", 1, {0.25}, {1}}, 4, verdict);
  verdict.figures = {{"scaled_factor_residual", 0.0102345}};
  const Figure rtols[] = {{"factor_rtol", 7.62939453e-05}};
  conclude(rtols, 20, 4, verdict);
  CHECK(verdict.passed);
  CHECK(verdict.message == "factor_rtol=7.63e-05; scaled_factor_residual=0.0102; batch=20; n=4");
}

TEST_CASE("scaled residuals divide by eps, n and a norm of at least 1e-30") {
  CHECK(scaled_residual(0x1p-23, 2, 4) == 0.125);
  CHECK(scaled_residual(0, 0, 4) == 0);
  CHECK(scaled_residual(0x1p-23, 0, 1) == 1 / 1e-30);
  const double residuals[] = {1, 3}, norms[] = {8, 2};
  CHECK(scaled_by_largest(residuals, norms, 1) == 3 / (k_eps * 8));
}

TEST_CASE("slices cover the batch evenly within the limit") {
  const struct {
    std::int64_t batch;
    double matrix, limit;
    std::int64_t size, count;
  } cases[] = {{640, 10, 1e9, 640, 1}, {640, 10, 6399, 320, 2}, {640, 10, 6400, 640, 1},
               {7, 10, 30, 3, 3},      {5, 10, 1, 1, 5},        {1, 1e30, 1, 1, 1}};
  for (const auto& c : cases) {
    CAPTURE(c.batch, c.matrix, c.limit);
    const Slices slices(c.batch, c.matrix, c.limit);
    std::int64_t next = 0, count = 0;
    slices.for_each([&](std::int64_t first, std::int64_t length) {
      CHECK(first == next);
      CHECK(length <= slices.size());
      next = first + length;
      ++count;
    });
    CHECK(next == c.batch);
    CHECK(slices.size() == c.size);
    CHECK(count == c.count);
  }
}

TEST_CASE("sizes beyond 64 bits are the largest size, not a small one") {
  CHECK(to_bytes(1e30) == std::numeric_limits<std::int64_t>::max());
  CHECK(to_bytes(0.5) == 1);
}

}  // namespace
}  // namespace kbench::test
