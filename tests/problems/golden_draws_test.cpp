// Draws and ranges equal those of torch on an H200: bit for bit on CUDA, and on the host wherever a
// CPU can be exact.
#include <algorithm>
#include <cmath>

#include "core/philox.h"
#include "device/device_cases.h"
#include "problems/eigh_py.h"
#include "problems/golden.h"
#include "problems/qr_v2.h"
#include "problems/torch_generator.h"

namespace kbench::test {
namespace {

std::vector<float> mix_weights(std::span<const MatrixCase> table) {
  std::vector<float> weights;
  for (const MatrixCase& row : table) {
    if (row.mix_weight > 0) weights.push_back(row.mix_weight);
  }
  return weights;
}

// Box-Muller radius of element i: what an error of the angle's sine or cosine is multiplied by.
double radius(std::uint64_t seed, std::uint64_t offset, std::int64_t i, std::int64_t count) {
  const auto place = philox::place(i, philox::threads(count), 4);
  const auto words = philox::words(seed, place.thread, offset / 4 + place.call);
  const auto x = static_cast<float>(words.w[place.lane & ~1]);
  return std::sqrt(-2 * std::log(double{x} * 0x1p-32 + 0x1p-33));
}

void check_integers(const nlohmann::json& draw, const std::vector<std::int64_t>& values) {
  CHECK(sha256_of(values) == draw["sha256"].get<std::string>());
  const auto first = draw["first8"].get<std::vector<std::int64_t>>();
  CHECK(std::equal(first.begin(), first.end(), values.begin()));
}

void check_floats(Device& device, const nlohmann::json& draw, TorchGenerator& draws) {
  const auto count = draw["numel"].get<std::int64_t>();
  const auto seed = draw["seed"].get<std::uint64_t>(), offset = draw["offset"].get<std::uint64_t>();
  const bool normal = draw["op"] == "randn";
  const Buffer<float> out(device, count);
  normal ? draws.normal(count, out.get()) : draws.uniform(count, out.get());
  const auto values = to_host(device, out.get(), count);
  if (!normal || device.info().kind == DeviceKind::cuda) {
    CHECK(sha256_of(values) == draw["sha256"].get<std::string>());
  }
  for (std::size_t i = 0; i < draw["first8"].size(); ++i) {
    const double reference = from_bits(draw["first8"][i]);
    const double bound =
        normal ? 0x1p-20 * radius(seed, offset, static_cast<std::int64_t>(i), count) : 0;
    CHECK(std::abs(double{values[i]} - reference) <= bound);
  }
}

KBENCH_DEVICE_TEST(golden_draws, "every draw of the golden file is torch's") {
  const nlohmann::json file = golden();
  REQUIRE(file["rng"].size() == 57);
  for (const auto& draw : file["rng"]) {
    const auto op = draw["op"].get<std::string>();
    const auto count = draw["numel"].get<std::int64_t>();
    const auto offset = draw["offset"].get<std::uint64_t>();
    CAPTURE(op, count, offset);
    TorchGenerator draws(device, draw["seed"].get<std::uint64_t>(), offset);
    if (op == "randint") {
      const auto low = static_cast<std::int64_t>(draw["args"][0].get<double>());
      const auto high = static_cast<std::int64_t>(draw["args"][1].get<double>());
      check_integers(draw, draws.integers(low, high, count));
    } else if (op == "multinomial") {
      // The file draws with the weights of qr_v2 first, then with those of eigh_py.
      const auto weights = mix_weights(offset < 228 ? qr_v2_cases() : eigh_py_cases());
      check_integers(draw, draws.multinomial(weights, count));
    } else {
      check_floats(device, draw, draws);
    }
    CHECK(draws.offset() == draw["next_offset"].get<std::uint64_t>());
    REQUIRE(draws.log().size() == 1);
    CHECK(draws.log()[0].op == op);
  }
}

// Distance in units in the last place of floats of one sign.
std::int64_t ulps(float a, float b) {
  return std::abs(std::int64_t{std::bit_cast<std::int32_t>(a)} -
                  std::int64_t{std::bit_cast<std::int32_t>(b)});
}

KBENCH_DEVICE_TEST(golden_ranges, "every range of the golden file is torch's") {
  const nlohmann::json file = golden();
  REQUIRE(file["ranges"].size() == 74);
  for (const auto& range : file["ranges"]) {
    const auto kind = range["kind"].get<std::string>();
    const double start = range["start"].get<double>(), end = range["end"].get<double>();
    const auto steps = range["steps"].get<std::int64_t>();
    CAPTURE(kind, start, end, steps);
    const auto from = static_cast<float>(start), to = static_cast<float>(end);
    const std::vector<float> values = kind == "linspace" ? device.ops().linspace(from, to, steps)
                                                         : device.ops().logspace(from, to, steps);
    REQUIRE(static_cast<std::int64_t>(values.size()) == steps);
    const bool exact = kind == "linspace" || device.info().kind == DeviceKind::cuda;
    if (exact) CHECK(sha256_of(values) == range["sha256"].get<std::string>());
    const auto& first = range["first8"];
    const auto& last = range["last8"];
    for (std::size_t i = 0; i < first.size(); ++i) {
      CHECK(ulps(values[i], from_bits(first[i])) <= (exact ? 0 : 2));
      const std::size_t from_end = values.size() - last.size() + i;
      CHECK(ulps(values[from_end], from_bits(last[i])) <= (exact ? 0 : 2));
    }
  }
}

}  // namespace
}  // namespace kbench::test
