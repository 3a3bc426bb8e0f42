// Element-wise operations against loops written from ops.h, equal bit for bit on both devices.
#include <algorithm>
#include <cmath>
#include <functional>

#include "device/device_cases.h"

namespace kbench::test {
namespace {

using Entry = std::function<float(const std::vector<float>& a, std::int64_t b, std::int64_t i,
                                  std::int64_t j)>;

std::int64_t index_of(Size s, std::int64_t b, std::int64_t i, std::int64_t j) {
  return (b * s.n + i) * s.n + j;
}

// What an operation should leave: entry by entry from the matrices before it.
std::vector<float> expected(Size s, const std::vector<float>& before, const Entry& entry) {
  std::vector<float> after(before.size());
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t i = 0; i < s.n; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j)
        after[at(index_of(s, b, i, j))] = entry(before, b, i, j);
    }
  }
  return after;
}

// Runs an in-place operation on random matrices for every size and compares with `entry`.
void compare(Device& device, const std::function<void(Size, float*)>& operation,
             const std::function<Entry(Size)>& entry_for) {
  for (const Size s : sizes()) {
    CAPTURE(s.batch, s.n);
    const std::vector<float> before = random_floats(s.batch * s.n * s.n, 1);
    const auto a = to_device<float>(device, before);
    operation(s, a.get());
    const auto after = to_host(device, a.get(), a.count());
    CHECK(differing(after, expected(s, before, entry_for(s))) == 0);
  }
}

KBENCH_DEVICE_TEST(scale_order, "scale multiplies by the row's factor, then by the column's") {
  for (const bool shared : {false, true}) {
    for (int which = 1; which <= 3; ++which) {
      CAPTURE(shared, which);
      const auto row = random_floats(70001 * 2, 2), col = random_floats(70001 * 2, 3);
      const auto on_row = to_device<float>(device, row), on_col = to_device<float>(device, col);
      const auto stride = [&](Size s) { return shared ? 0 : s.n; };
      compare(
          device,
          [&](Size s, float* a) {
            const Vectors none;
            const Vectors rows{on_row.get(), stride(s)}, cols{on_col.get(), stride(s)};
            device.ops().scale(a, s.batch, s.n, which & 1 ? rows : none, which & 2 ? cols : none);
          },
          [&](Size s) {
            return [&, s](const std::vector<float>& a, std::int64_t b, std::int64_t i,
                          std::int64_t j) {
              float value = a[at(index_of(s, b, i, j))];
              if (which & 1) value = row[at(b * stride(s) + i)] * value;
              if (which & 2) value = value * col[at(b * stride(s) + j)];
              return value;
            };
          });
    }
  }
}

KBENCH_DEVICE_TEST(scale_all_entries, "scale_all multiplies every element") {
  compare(
      device, [&](Size s, float* a) { device.ops().scale_all(a, s.batch * s.n * s.n, 0.3f); },
      [](Size s) {
        return [s](const std::vector<float>& a, std::int64_t b, std::int64_t i, std::int64_t j) {
          return a[at(index_of(s, b, i, j))] * 0.3f;
        };
      });
}

KBENCH_DEVICE_TEST(diagonals, "add_diagonal and set_diagonal touch what they should") {
  const auto values = random_floats(70001 * 2, 4);
  const auto on_device = to_device<float>(device, values);
  for (const bool ones : {false, true}) {
    const auto diagonal = [&](Size s) { return ones ? Vectors{} : Vectors{on_device.get(), s.n}; };
    const auto value = [&](Size s, std::int64_t b, std::int64_t i) {
      return ones ? 1.0f : values[at(b * s.n + i)];
    };
    compare(
        device, [&](Size s, float* a) { device.ops().add_diagonal(a, s.batch, s.n, diagonal(s)); },
        [&](Size s) {
          return
              [&, s](const std::vector<float>& a, std::int64_t b, std::int64_t i, std::int64_t j) {
                const float entry = a[at(index_of(s, b, i, j))];
                return i == j ? entry + value(s, b, i) : entry;
              };
        });
    compare(
        device, [&](Size s, float* a) { device.ops().set_diagonal(a, s.batch, s.n, diagonal(s)); },
        [&](Size s) {
          return [&, s](const std::vector<float>&, std::int64_t b, std::int64_t i, std::int64_t j) {
            return i == j ? value(s, b, i) : 0.0f;
          };
        });
  }
}

KBENCH_DEVICE_TEST(upper_part, "keep_upper writes +0 below the diagonal and nothing else") {
  compare(
      device, [&](Size s, float* a) { device.ops().keep_upper(a, s.batch, s.n); },
      [](Size s) {
        return [s](const std::vector<float>& a, std::int64_t b, std::int64_t i, std::int64_t j) {
          return i > j ? 0.0f : a[at(index_of(s, b, i, j))];
        };
      });
}

KBENCH_DEVICE_TEST(band_part, "keep_band keeps the sign of what it zeroes") {
  std::vector<std::int64_t> widths(70001);
  for (std::size_t b = 0; b < widths.size(); ++b) widths[b] = static_cast<std::int64_t>(b % 3) * 16;
  const auto on_device = to_device<std::int64_t>(device, widths);
  compare(
      device, [&](Size s, float* a) { device.ops().keep_band(a, s.batch, s.n, on_device.get()); },
      [&](Size s) {
        return [&, s](const std::vector<float>& a, std::int64_t b, std::int64_t i, std::int64_t j) {
          const float value = a[at(index_of(s, b, i, j))];
          return std::abs(i - j) > widths[at(b)] ? std::copysign(0.0f, value) : value;
        };
      });
}

KBENCH_DEVICE_TEST(zeroed_columns, "zero_columns writes +0 from the first column on") {
  for (const std::int64_t share : {0, 1, 2}) {
    const auto first = [share](Size s) { return s.n * share / 2; };
    compare(
        device, [&](Size s, float* a) { device.ops().zero_columns(a, s.batch, s.n, first(s)); },
        [&](Size s) {
          return
              [&, s](const std::vector<float>& a, std::int64_t b, std::int64_t i, std::int64_t j) {
                return j >= first(s) ? 0.0f : a[at(index_of(s, b, i, j))];
              };
        });
  }
}

KBENCH_DEVICE_TEST(repeated_columns, "repeat_columns rounds the noise before it adds it") {
  const auto first = [](Size s) { return std::max<std::int64_t>(1, 3 * s.n / 4); };
  const auto noise = random_floats(70001 * 2, 5);
  const auto on_device = to_device<float>(device, noise);
  compare(
      device,
      [&](Size s, float* a) {
        device.ops().repeat_columns(a, s.batch, s.n, first(s), on_device.get(), 0.3f);
      },
      [&](Size s) {
        return [&, s](const std::vector<float>& a, std::int64_t b, std::int64_t i, std::int64_t j) {
          const std::int64_t k = j - first(s), tail = s.n - first(s);
          if (k < 0) return a[at(index_of(s, b, i, j))];
          const volatile float shift = 0.3f * noise[at((b * s.n + i) * tail + k)];
          return a[at(index_of(s, b, i, k))] + shift;
        };
      });
}

KBENCH_DEVICE_TEST(nearly_equal_columns, "near_columns may write over its noise") {
  const auto base = random_floats(70001 * 2, 6);
  const auto on_device = to_device<float>(device, base);
  compare(
      device,
      [&](Size s, float* a) {
        device.ops().near_columns(a, s.batch, s.n, on_device.get(), a, 0.3f);
      },
      [&](Size s) {
        return [&, s](const std::vector<float>& a, std::int64_t b, std::int64_t i, std::int64_t j) {
          const volatile float shift = 0.3f * a[at(index_of(s, b, i, j))];
          return base[at(b * s.n + i)] + shift;
        };
      });
}

KBENCH_DEVICE_TEST(symmetric_part, "symmetrize halves the rounded sum of both triangles") {
  compare(
      device, [&](Size s, float* a) { device.ops().symmetrize(a, s.batch, s.n); },
      [](Size s) {
        return [s](const std::vector<float>& a, std::int64_t b, std::int64_t i, std::int64_t j) {
          return 0.5f * (a[at(index_of(s, b, i, j))] + a[at(index_of(s, b, j, i))]);
        };
      });
}

KBENCH_DEVICE_TEST(transposition, "transpose swaps rows and columns") {
  for (const Size s : sizes()) {
    CAPTURE(s.batch, s.n);
    const auto before = random_floats(s.batch * s.n * s.n, 7);
    const auto in = to_device<float>(device, before);
    const Buffer<float> out(device, in.count());
    device.ops().transpose(in.get(), s.batch, s.n, out.get());
    const auto swapped = expected(s, before, [s](const auto& a, auto b, auto i, auto j) {
      return a[at(index_of(s, b, j, i))];
    });
    CHECK(differing(to_host(device, out.get(), out.count()), swapped) == 0);
  }
}

KBENCH_DEVICE_TEST(rearranged_entries,
                   "rearrange takes rows and columns in one order and multiplies by both factors") {
  const auto row = random_floats(70001 * 2, 9), col = random_floats(70001 * 2, 10);
  const auto on_row = to_device<float>(device, row), on_col = to_device<float>(device, col);
  for (int which = 0; which < 8; ++which) {
    for (const Size s : sizes()) {
      CAPTURE(s.batch, s.n, which);
      // Matrix b turned by b + 1 places, so that no two neighbours have the same order.
      std::vector<std::int32_t> order;
      for (std::int64_t b = 0; b < s.batch; ++b) {
        for (std::int64_t i = 0; i < s.n; ++i) {
          order.push_back(static_cast<std::int32_t>((i + b + 1) % s.n));
        }
      }
      const auto on_device = to_device<std::int32_t>(device, order);
      const auto before = random_floats(s.batch * s.n * s.n, 11);
      const auto in = to_device<float>(device, before);
      const Buffer<float> out(device, in.count());
      const bool ordered = (which & 4) != 0;
      device.ops().rearrange(in.get(), s.batch, s.n, ordered ? on_device.get() : nullptr,
                             which & 1 ? Vectors{on_row.get(), s.n} : Vectors{},
                             which & 2 ? Vectors{on_col.get(), s.n} : Vectors{}, out.get());
      const auto wanted = expected(s, before, [&](const auto& a, auto b, auto i, auto j) {
        const auto place = [&](std::int64_t k) {
          return ordered ? std::int64_t{order[at(b * s.n + k)]} : k;
        };
        float value = a[at(index_of(s, b, place(i), place(j)))];
        if (which & 1) value = row[at(b * s.n + i)] * value;
        if (which & 2) value = value * col[at(b * s.n + j)];
        return value;
      });
      CHECK(differing(to_host(device, out.get(), out.count()), wanted) == 0);
    }
  }
}

KBENCH_DEVICE_TEST(gather_and_scatter,
                   "gather takes matrices by position and scatter puts them back") {
  for (const Size s : sizes()) {
    CAPTURE(s.batch, s.n);
    // Every other matrix, last one first.
    std::vector<std::int64_t> index;
    for (std::int64_t b = s.batch - 1; b >= 0; b -= 2) index.push_back(b);
    const auto m = static_cast<std::int64_t>(index.size()), entries = s.n * s.n;
    const auto all = random_floats(s.batch * entries, 8);
    const auto in = to_device<float>(device, all);
    const auto on_device = to_device<std::int64_t>(device, index);
    const Buffer<float> some(device, m * entries), back(device, in.count());
    device.ops().gather(in.get(), on_device.get(), m, s.n, some.get());
    device.fill(back.get(), 0, back.bytes());
    device.ops().scatter(some.get(), on_device.get(), m, s.n, back.get());

    std::vector<float> taken, put(all.size(), 0.0f);
    for (const std::int64_t b : index) {
      const auto first = all.begin() + b * entries;
      taken.insert(taken.end(), first, first + entries);
      std::copy(first, first + entries, put.begin() + b * entries);
    }
    CHECK(differing(to_host(device, some.get(), some.count()), taken) == 0);
    CHECK(differing(to_host(device, back.get(), back.count()), put) == 0);
  }
}

}  // namespace
}  // namespace kbench::test
