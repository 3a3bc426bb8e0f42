// Generated inputs against those of the public generators on an H200. Class exact: equal bit for
// bit on CUDA, within the error of the normals on the host. Class approx (behind a QR or a
// product): close.
#include <algorithm>
#include <cmath>

#include "device/device_cases.h"
#include "problems/eigh_py.h"
#include "problems/golden.h"
#include "problems/qr_v2.h"
#include "problems/torch_generator.h"

namespace kbench::test {
namespace {

Case case_of(const nlohmann::json& entry) {
  const auto& spec = entry["spec"];
  Case c;
  c.problem = entry["problem"] == "qr" ? "qr_v2" : "eigh_py";
  c.batch = spec["batch"].get<std::int64_t>();
  c.n = spec["n"].get<std::int64_t>();
  c.cond = spec["cond"].get<std::int64_t>();
  c.seed = spec["seed"].get<std::int64_t>();
  c.kind = spec["case"].get<std::string>();
  return c;
}

std::span<const MatrixCase> cases_of(const Case& c) {
  return c.problem == "qr_v2" ? qr_v2_cases() : eigh_py_cases();
}

struct Sample {
  float value, reference;
};

// First 64, 64 strided and last 16 elements beside the reference's.
std::vector<Sample> samples_of(const nlohmann::json& entry, const std::vector<float>& a) {
  std::vector<Sample> samples;
  const auto& first = entry["first64"];
  const auto& strided = entry["strided64"];
  const auto& last = entry["last16"];
  for (std::size_t k = 0; k < first.size(); ++k) samples.push_back({a[k], from_bits(first[k])});
  for (std::size_t k = 0; k < strided.size(); ++k) {
    samples.push_back({a[k * a.size() / 64], from_bits(strided[k])});
  }
  for (std::size_t k = 0; k < last.size(); ++k) {
    samples.push_back({a[a.size() - last.size() + k], from_bits(last[k])});
  }
  return samples;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

double norm1(const float* matrix, std::int64_t n) {
  double worst = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += std::abs(double{matrix[i * n + j]});
    worst = std::max(worst, sum);
  }
  return worst;
}

// Error of one entry of an exact case on the host. Without normals: the last bits of powf. With
// them: 2^-20 of the largest radius of a 32-bit word's Box-Muller pair, times the largest factor of
// any case, which is 1.
double host_tolerance(const nlohmann::json& entry, const Case& c) {
  if (c.kind.rfind("lapack_", 0) == 0 || c.kind == "diagonal") {
    return 0x1p-22 * entry["max_abs"].get<double>();
  }
  return 0x1p-20 * 6.8;
}

void check_samples(const nlohmann::json& entry, const std::vector<float>& a, double worst_allowed,
                   double median_allowed) {
  std::vector<double> differences;
  for (const Sample& sample : samples_of(entry, a)) {
    differences.push_back(std::abs(double{sample.value} - double{sample.reference}));
  }
  CHECK(*std::max_element(differences.begin(), differences.end()) <= worst_allowed);
  CHECK(median(differences) <= median_allowed);
}

void check_sums(const nlohmann::json& entry, const Case& c, const std::vector<float>& a,
                double relative) {
  double squares = 0;
  std::int64_t zeros = 0;
  for (const float value : a) {
    squares += double{value} * double{value};
    if (value == 0) ++zeros;
  }
  const double reference = entry["sum_of_squares"].get<double>();
  CHECK(std::abs(squares - reference) <= relative * reference);
  CHECK(zeros == entry["zeros"].get<std::int64_t>());
  double worst = 0;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    const double norm = entry["l1_norms"][at(b)].get<double>();
    const double difference = std::abs(norm1(a.data() + b * c.n * c.n, c.n) - norm);
    worst = std::max(worst, norm == 0 ? difference : difference / norm);
  }
  CHECK(worst <= relative);
}

void check_values(const nlohmann::json& entry, const Case& c, const std::vector<float>& a,
                  DeviceKind kind) {
  const double largest = entry["max_abs"].get<double>();
  if (entry["class"] == "approx") {
    check_samples(entry, a, 1e-3 * largest, 1e-4 * largest);
    check_sums(entry, c, a, 1e-4);
    return;
  }
  if (kind == DeviceKind::cuda) {
    CHECK(sha256_of(a) == entry["sha256"].get<std::string>());
    return;
  }
  check_samples(entry, a, host_tolerance(entry, c), host_tolerance(entry, c) / 4);
  check_sums(entry, c, a, 1e-5);
  const auto negative_zeros =
      std::count_if(a.begin(), a.end(), [](float v) { return v == 0 && std::signbit(v); });
  CHECK(negative_zeros == entry["negative_zeros"].get<std::int64_t>());
}

void check_draws(const nlohmann::json& entry, const std::vector<Draw>& log) {
  const auto& draws = entry["draws"];
  REQUIRE(log.size() == draws.size());
  for (std::size_t k = 0; k < log.size(); ++k) {
    CAPTURE(k);
    CHECK(log[k].op == draws[k]["op"].get<std::string>());
    CHECK(log[k].count == draws[k]["numel"].get<std::int64_t>());
    CHECK(log[k].offset == draws[k]["offset"].get<std::uint64_t>());
    CHECK(log[k].next_offset == draws[k]["next_offset"].get<std::uint64_t>());
  }
}

void check_labels(Device& device, const nlohmann::json& entry, const Case& c) {
  if (!entry.contains("labels")) return;
  TorchGenerator draws(device, static_cast<std::uint64_t>(c.seed));
  draws.skip_normal(c.batch * c.n * c.n);
  CHECK(mixed_labels(draws, cases_of(c), c.batch) ==
        entry["labels"].get<std::vector<std::int64_t>>());
}

KBENCH_DEVICE_TEST(golden_inputs, "every spec of the golden file gives torch's matrices") {
  const nlohmann::json file = golden();
  REQUIRE(file["specs"].size() == 101);
  for (const auto& entry : file["specs"]) {
    const Case c = case_of(entry);
    const std::int64_t count = c.batch * c.n * c.n;
    // 640 x 512 x 512 takes a CPU too long for a test of every build.
    if (device.info().kind == DeviceKind::host && count > 1000000) continue;
    CAPTURE(c.problem, c.kind, c.batch, c.n, c.cond, c.seed);
    const Buffer<float> a(device, count);
    device.fill(a.get(), 0xff, a.bytes());
    TorchGenerator draws(device, static_cast<std::uint64_t>(c.seed));
    c.problem == "qr_v2" ? generate_qr_v2(draws, c, a.get()) : generate_eigh_py(draws, c, a.get());
    check_draws(entry, draws.log());
    check_values(entry, c, to_host(device, a.get(), count), device.info().kind);
    check_labels(device, entry, c);
  }
}

}  // namespace
}  // namespace kbench::test
