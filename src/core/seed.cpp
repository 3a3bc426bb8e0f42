// Seed arithmetic of the evaluator contract, exact or refused: no result ever wraps. Must not know
// where a seed comes from.
#include "core/seed.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/error.h"

namespace kbench {
namespace {

constexpr std::int64_t k_largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t k_most_input_floats = std::int64_t{256} * 1024 * 1024 / 4;
constexpr std::int64_t k_most_inputs = 50;
constexpr std::int64_t k_seed_step = 42;

[[noreturn]] void out_of_range(const char* what, std::int64_t a, std::int64_t b) {
  throw Error(ExitCode::case_file,
              fmt::format("seed `{}` is out of range ({} with `{}` leaves the 63 bits of a seed); "
                          "write a smaller seed",
                          a, what, b));
}

}  // namespace

std::int64_t combine_seed(std::int64_t case_seed, std::int64_t secret_seed) {
  constexpr const char* k_what = "combined";
  if (case_seed < 0 || secret_seed < 0 || case_seed > k_largest - 1 - secret_seed) {
    out_of_range(k_what, case_seed, secret_seed);
  }
  const std::int64_t sum = case_seed + secret_seed;
  // sum (sum + 1) / 2 with the even factor halved first, so that nothing on the way is larger than
  // the result.
  const std::int64_t low = sum % 2 == 0 ? sum / 2 : sum;
  const std::int64_t high = sum % 2 == 0 ? sum + 1 : (sum + 1) / 2;
  if (low > k_largest / high || low * high > k_largest - case_seed) {
    out_of_range(k_what, case_seed, secret_seed);
  }
  return case_seed + low * high;
}

std::int64_t measured_seed(std::int64_t case_seed, std::int64_t j) {
  if (case_seed < 0 || j < 0 || j > (k_largest - case_seed) / k_seed_step - 1) {
    out_of_range("advanced for input", case_seed, j);
  }
  return case_seed + k_seed_step * (j + 1);
}

std::int64_t input_count(std::int64_t batch, std::int64_t n) {
  KBENCH_ASSERT(batch > 0 && n > 0);
  // Nested floor divisions equal the floor of the quotient and cannot overflow.
  return std::clamp<std::int64_t>(k_most_input_floats / batch / n / n, 1, k_most_inputs);
}

}  // namespace kbench
