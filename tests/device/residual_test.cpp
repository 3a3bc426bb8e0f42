// Residual norms, widening and the finite test against loops written from ops.h.
#include <algorithm>
#include <cmath>
#include <limits>

#include "device/device_cases.h"

namespace kbench::test {
namespace {

bool takes_part(Part part, std::int64_t i, std::int64_t j) {
  switch (part) {
    case Part::upper:
      return i <= j;
    case Part::strict_lower:
      return i > j;
    case Part::off_diagonal:
      return i != j;
    case Part::all:
      break;
  }
  return true;
}

std::int64_t offset_of(Size s, Layout layout, std::int64_t b, std::int64_t i, std::int64_t j) {
  return layout == Layout::row_major ? (b * s.n + i) * s.n + j : (b * s.n + j) * s.n + i;
}

struct Operands {
  std::vector<double> p;
  std::vector<float> y, scale;  ///< empty: left out
  Part p_part = Part::all, y_part = Part::all;
  Layout layout = Layout::row_major;
  std::int64_t stride = 0;
  bool identity = false;
};

std::vector<double> reference_norms(Size s, const Operands& o) {
  std::vector<double> norms;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    double worst = 0;
    for (std::int64_t j = 0; j < s.n; ++j) {
      double sum = 0;
      for (std::int64_t i = 0; i < s.n; ++i) {
        double value = 0;
        if (!o.p.empty() && takes_part(o.p_part, i, j)) value = o.p[at((b * s.n + i) * s.n + j)];
        if (!o.y.empty() && takes_part(o.y_part, i, j)) {
          const double factor = o.scale.empty() ? 1.0 : double{o.scale[at(b * o.stride + j)]};
          value -= double{o.y[at(offset_of(s, o.layout, b, i, j))]} * factor;
        }
        if (o.identity && i == j) value -= 1;
        sum += std::abs(value);
      }
      worst = std::max(worst, sum);
    }
    norms.push_back(worst);
  }
  return norms;
}

std::vector<double> device_norms(Device& device, Size s, const Operands& o) {
  const auto p = to_device<double>(device, o.p);
  const auto y = to_device<float>(device, o.y), scale = to_device<float>(device, o.scale);
  Subtrahend subtrahend;
  subtrahend.y = y.get();
  subtrahend.layout = o.layout;
  subtrahend.part = o.y_part;
  subtrahend.column_scale = {scale.get(), o.stride};
  subtrahend.identity = o.identity;
  return device.ops().residual_norm1(p.get(), o.p_part, subtrahend, s.batch, s.n);
}

void compare(Device& device, Size s, const Operands& o) {
  const auto expected = reference_norms(s, o), norms = device_norms(device, s, o);
  REQUIRE(norms.size() == expected.size());
  double worst = 0;
  for (std::size_t b = 0; b < norms.size(); ++b) {
    worst = std::max(worst, std::abs(norms[b] - expected[b]) / std::max(expected[b], 1e-300));
  }
  CHECK(worst <= static_cast<double>(s.n) * 0x1p-52);
}

KBENCH_DEVICE_TEST(residuals_of_all_parts, "residual_norm1 is right for all parts and layouts") {
  const Part parts[] = {Part::all, Part::upper, Part::strict_lower, Part::off_diagonal};
  for (const Size s : sizes()) {
    const auto p = random_floats(s.batch * s.n * s.n, 21);
    const auto y = random_floats(s.batch * s.n * s.n, 22);
    for (const Part p_part : parts) {
      for (const Part y_part : parts) {
        for (const Layout layout : {Layout::row_major, Layout::column_major}) {
          CAPTURE(s.batch, s.n, static_cast<int>(p_part), static_cast<int>(y_part),
                  static_cast<int>(layout));
          Operands o;
          o.p.assign(p.begin(), p.end());
          o.y = y;
          o.p_part = p_part;
          o.y_part = y_part;
          o.layout = layout;
          compare(device, s, o);
        }
      }
    }
  }
}

KBENCH_DEVICE_TEST(residuals_with_scale,
                   "residual_norm1 takes scales, the identity and absent operands") {
  for (const Size s : sizes()) {
    CAPTURE(s.batch, s.n);
    Operands o;
    const auto p = random_floats(s.batch * s.n * s.n, 23);
    o.y = random_floats(s.batch * s.n * s.n, 24);
    compare(device, s, o);  // no P
    o.p.assign(p.begin(), p.end());
    o.scale = random_floats(s.batch * s.n, 25);
    compare(device, s, o);  // one scale for all
    o.stride = s.n;
    o.layout = Layout::column_major;
    o.identity = true;
    compare(device, s, o);
    o.y.clear();
    o.scale.clear();
    compare(device, s, o);  // P - I
  }
}

KBENCH_DEVICE_TEST(nan_residuals, "a NaN makes the norm of its own matrix NaN and no other") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Size s : {Size{3, 33}, Size{70001, 2}}) {
    const std::int64_t bad = s.batch - 2;
    for (const std::int64_t column : {std::int64_t{0}, s.n - 1}) {
      CAPTURE(s.batch, column);
      Operands o;
      o.p.assign(at(s.batch * s.n * s.n), 1.0);
      o.p[at((bad * s.n + s.n / 2) * s.n + column)] = nan;
      auto norms = device_norms(device, s, o);
      CHECK(std::isnan(norms[at(bad)]));
      CHECK(norms[at(bad + 1)] == static_cast<double>(s.n));
      CHECK(
          std::none_of(norms.begin(), norms.begin() + bad, [](double v) { return std::isnan(v); }));

      o.p.assign(at(s.batch * s.n * s.n), 1.0);
      o.y.assign(at(s.batch * s.n * s.n), 0.0f);
      o.y[at((bad * s.n + s.n / 2) * s.n + column)] = infinity;
      norms = device_norms(device, s, o);
      CHECK_FALSE(std::isfinite(norms[at(bad)]));
      CHECK(norms[at(bad + 1)] == static_cast<double>(s.n));
    }
  }
}

KBENCH_DEVICE_TEST(widening, "widen gives exact products row by row from both layouts") {
  for (const Size s : sizes()) {
    const auto in = random_floats(s.batch * s.n * s.n, 26),
               scale = random_floats(s.batch * s.n, 27);
    const auto on_in = to_device<float>(device, in), on_scale = to_device<float>(device, scale);
    const Buffer<double> out(device, on_in.count());
    for (const Layout layout : {Layout::row_major, Layout::column_major}) {
      for (const std::int64_t stride : {std::int64_t{-1}, std::int64_t{0}, s.n}) {
        CAPTURE(s.batch, s.n, static_cast<int>(layout), stride);
        const Vectors factors = stride < 0 ? Vectors{} : Vectors{on_scale.get(), stride};
        device.ops().widen(on_in.get(), layout, factors, s.batch, s.n, out.get());
        const auto wide = to_host(device, out.get(), out.count());
        std::int64_t wrong = 0;
        for (std::int64_t b = 0; b < s.batch; ++b) {
          for (std::int64_t i = 0; i < s.n; ++i) {
            for (std::int64_t j = 0; j < s.n; ++j) {
              const double factor = stride < 0 ? 1.0 : double{scale[at(b * stride + j)]};
              const double value = double{in[at(offset_of(s, layout, b, i, j))]} * factor;
              if (wide[at((b * s.n + i) * s.n + j)] != value) ++wrong;
            }
          }
        }
        CHECK(wrong == 0);
      }
    }
  }
}

KBENCH_DEVICE_TEST(first_non_finite_element, "the first NaN or infinity is found, and only those") {
  for (const std::int64_t count : {1, 1000, 3000001}) {
    std::vector<float> values = random_floats(count, 28);
    values[0] = std::numeric_limits<float>::max();
    values[at(count / 2)] = std::numeric_limits<float>::denorm_min();
    const auto on_device = to_device<float>(device, values);
    CHECK(device.ops().first_non_finite(on_device.get(), count) == -1);
    // From the back to the front: each earlier one is then the first.
    for (const std::int64_t place : {count - 1, count / 2, std::int64_t{0}}) {
      for (const float bad :
           {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        device.upload(on_device.get() + place, &bad, sizeof(float));
        CHECK(device.ops().first_non_finite(on_device.get(), count) == place);
      }
    }
  }
  CHECK(device.ops().first_non_finite(nullptr, 0) == -1);
}

}  // namespace
}  // namespace kbench::test
