// Memory, copies, comparison, flush and stopwatch of a device.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "device/device_cases.h"

namespace kbench::test {
namespace {

KBENCH_DEVICE_TEST(an_impossible_allocation, "an impossible allocation names need and free") {
  try {
    device.allocate(std::int64_t{1} << 60);
    FAIL("one EiB was allocated");
  } catch (const DeviceError& error) {
    CHECK(error.code() == ExitCode::device);
    CHECK_FALSE(error.sticky());
    CHECK_THAT(error.what(), StartsWith("cannot allocate 1099511627776.0 MiB on the "));
    CHECK_THAT(error.what(), ContainsSubstring(" MiB free of "));
    CHECK_THAT(error.what(), ContainsSubstring("; use a smaller batch"));
  }
  // The device works on.
  const Buffer<float> buffer(device, 100);
  CHECK(buffer.get() != nullptr);
}

KBENCH_DEVICE_TEST(memory_is_aligned, "memory is 256-byte aligned and null for no bytes") {
  CHECK(device.allocate(0) == nullptr);
  for (const std::int64_t bytes : {1, 255, 257, 1 << 20}) {
    const Buffer<std::uint8_t> buffer(device, bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.get()) % 256 == 0);
  }
}

KBENCH_DEVICE_TEST(copies_keep_bytes, "upload, copy and download keep every byte") {
  for (const std::int64_t count : {1, 1000, 3000001}) {
    std::vector<std::uint8_t> bytes(at(count));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + 1);
    const auto first = to_device<std::uint8_t>(device, bytes);
    const Buffer<std::uint8_t> second(device, count);
    device.copy(second.get(), first.get(), count);
    CHECK(to_host(device, second.get(), count) == bytes);
  }
}

KBENCH_DEVICE_TEST(one_wrong_byte, "one wrong byte anywhere is seen by holds_only and equal") {
  for (const std::int64_t count : {1, 255, 4096, 1000003}) {
    const Buffer<std::uint8_t> a(device, count), b(device, count);
    device.fill(a.get(), 0xab, count);
    device.fill(b.get(), 0xab, count);
    CHECK(device.holds_only(a.get(), 0xab, count));
    CHECK_FALSE(device.holds_only(a.get(), 0xaa, count));
    CHECK(device.equal(a.get(), b.get(), count));
    for (const std::int64_t place : {std::int64_t{0}, count / 2, count - 1}) {
      CAPTURE(count, place);
      device.fill(b.get() + place, 0x2b, 1);
      CHECK_FALSE(device.holds_only(b.get(), 0xab, count));
      CHECK_FALSE(device.equal(a.get(), b.get(), count));
      device.fill(b.get() + place, 0xab, 1);
    }
  }
  CHECK(device.holds_only(nullptr, 0, 0));
  CHECK(device.equal(nullptr, nullptr, 0));
}

KBENCH_DEVICE_TEST(stretches_off_alignment, "stretches may begin at any byte") {
  const Buffer<std::uint8_t> a(device, 5000);
  device.fill(a.get(), 1, 5000);
  device.fill(a.get() + 3, 2, 4001);
  CHECK(device.holds_only(a.get() + 3, 2, 4001));
  CHECK_FALSE(device.holds_only(a.get() + 2, 2, 4001));
  CHECK(device.equal(a.get() + 3, a.get() + 4, 4000));
  CHECK_FALSE(device.equal(a.get() + 3, a.get() + 4, 4001));
}

KBENCH_DEVICE_TEST(stopwatch_orders, "the stopwatch gives more time to more work") {
  const std::int64_t count = std::int64_t{1} << 26;
  const Buffer<std::uint8_t> buffer(device, count);
  const auto watch = device.make_stopwatch();
  const auto time = [&](std::int64_t bytes) {
    watch->start();
    device.fill(buffer.get(), 1, bytes);
    watch->stop();
    device.synchronize();
    return watch->elapsed_ns();
  };
  // The shortest of a few: a device that was idle takes its time for the first ones.
  const auto shortest = [&](std::int64_t bytes) {
    double least = time(bytes);
    for (int k = 0; k < 10; ++k) least = std::min(least, time(bytes));
    return least;
  };
  const double little = shortest(16);
  CHECK(little >= 0);
  CHECK(shortest(count) > little);
}

KBENCH_DEVICE_TEST(flush_twice, "the flush needs its buffer once") {
  device.flush_cache();
  device.synchronize();
  const std::int64_t before = device.free_bytes();
  for (int i = 0; i < 5; ++i) device.flush_cache();
  device.synchronize();
  // Other processes use memory too: a second buffer would show, less does not matter.
  CHECK(device.free_bytes() > before - 4 * device.info().flush_bytes);
  CHECK(device.info().flush_bytes >= 2 * device.info().cache_bytes);
}

KBENCH_DEVICE_TEST(nothing_left, "a device with nothing left to do is drained and undisturbed") {
  const Buffer<std::uint8_t> buffer(device, 1 << 20);
  device.fill(buffer.get(), 1, buffer.bytes());
  CHECK(device.drain(0) >= 0);
  CHECK(device.holds_only(buffer.get(), 1, buffer.bytes()));
  const Disturbance none = device.disturbance();
  CHECK(none.what == "");
  CHECK_FALSE(none.lost);
}

KBENCH_DEVICE_TEST(speed_is_plausible, "the speed of a device is measured once and plausible") {
  const Speed speed = device.speed();
  CHECK(speed.copy_bytes_per_s > 1e8);
  CHECK(speed.copy_bytes_per_s < 1e14);
  const bool cuda = device.info().kind == DeviceKind::cuda;
  CHECK((speed.launch_ns > 0) == cuda);
  CHECK(speed.launch_ns < 1e5);
  const Speed again = device.speed();
  CHECK(again.copy_bytes_per_s == speed.copy_bytes_per_s);
  CHECK(again.launch_ns == speed.launch_ns);
}

KBENCH_DEVICE_TEST(device_describes_itself, "a device describes itself") {
  const DeviceInfo& info = device.info();
  CHECK_FALSE(info.name.empty());
  CHECK_FALSE(info.runtime.empty());
  CHECK(info.memory_bytes > 0);
  CHECK(info.free_bytes > 0);
  CHECK(info.free_bytes <= info.memory_bytes);
  CHECK(info.multiprocessors > 0);
  CHECK(info.clock == (info.kind == DeviceKind::cuda ? "cuda_event" : "steady_clock"));
  CHECK((device.stream() != nullptr) == (info.kind == DeviceKind::cuda));
  device.check_launch();
  device.synchronize();
}

}  // namespace
}  // namespace kbench::test
