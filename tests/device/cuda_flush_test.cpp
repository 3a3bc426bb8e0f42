// A cache flush acts on one device: what is warm on another one stays warm there.
#include <algorithm>
#include <memory>
#include <thread>

#include "catch.h"
#include "device/device.h"

using namespace kbench;

namespace {

/// The fastest of a few copies within the cache, each after `before`; in nanoseconds.
template <class Function>
double copy_ns(Device& device, Function before) {
  constexpr std::int64_t k_bytes = std::int64_t{8} << 20;
  Buffer<std::uint8_t> from(device, k_bytes), to(device, k_bytes);
  device.fill(from.get(), 1, k_bytes);
  const auto watch = device.make_stopwatch();
  constexpr int k_rounds = 9;
  double best_ns = 0;
  for (int round = 0; round < k_rounds; ++round) {
    device.copy(to.get(), from.get(), k_bytes);
    device.synchronize();
    before();
    watch->start();
    device.copy(to.get(), from.get(), k_bytes);
    watch->stop();
    device.synchronize();
    const double ns = watch->elapsed_ns();
    best_ns = round == 0 ? ns : std::min(best_ns, ns);
  }
  return best_ns;
}

/// Opens device 0 in a thread of its own, whose current device it is, and flushes its cache.
void flush_device_0() {
  std::thread([] {
    const std::unique_ptr<Device> device = open_cuda_device(0);
    device->flush_cache();
    device->synchronize();
  }).join();
}

}  // namespace

TEST_CASE("a flush makes its own device cold and no other one", "[gpu]") {
  if (cuda_device_count(nullptr) < 2) {
    WARN("one CUDA device here: nothing to tell apart");
    return;
  }
  const std::unique_ptr<Device> device = open_cuda_device(1);
  const double warm_ns = copy_ns(*device, [] {});
  const double other_flushed_ns = copy_ns(*device, flush_device_0);
  const double flushed_ns = copy_ns(*device, [&] {
    device->flush_cache();
    device->synchronize();
  });
  WARN("warm " << warm_ns << " ns, device 0 flushed " << other_flushed_ns << " ns, own flush "
               << flushed_ns << " ns");
  const double middle_ns = (warm_ns + flushed_ns) / 2;
  CHECK(flushed_ns > 1.2 * warm_ns);
  CHECK(other_flushed_ns < middle_ns);
}
