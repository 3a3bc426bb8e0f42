// Measures what the device does at best and what it charges for nothing at all. Uses the device as
// a problem would; knows no problem and no kernel but the empty one.
#include <algorithm>
#include <memory>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_error.h"
#include "device/cuda/launches.h"

namespace kbench::cuda {
namespace {

cudaStream_t stream_of(CudaDevice& device) { return static_cast<cudaStream_t>(device.stream()); }

/// The best of a few copies that no cache holds; the first ones also wake the clocks.
double measure_copy(CudaDevice& device) {
  constexpr std::int64_t k_usual = std::int64_t{256} << 20;
  constexpr int k_rounds = 5;
  const std::int64_t bytes = std::min(k_usual, device.free_bytes() / 4);
  if (bytes <= 0) return 0;
  const Buffer<std::uint8_t> from(device, bytes), to(device, bytes);
  device.fill(from.get(), 0, bytes);
  const std::unique_ptr<Stopwatch> watch = device.make_stopwatch();
  double best_ns = 0;
  for (int round = 0; round < k_rounds; ++round) {
    watch->start();
    device.copy(to.get(), from.get(), bytes);
    watch->stop();
    device.synchronize();
    best_ns = round == 0 ? watch->elapsed_ns() : std::min(best_ns, watch->elapsed_ns());
  }
  return 2e9 * static_cast<double>(bytes) / best_ns;
}

/// Empty kernels in a row, queued behind a flush so that the host's own time does not show.
double measure_launch(CudaDevice& device) {
  constexpr int k_rounds = 5, k_launches = 20;
  const std::unique_ptr<Stopwatch> watch = device.make_stopwatch();
  double best_ns = 0;
  for (int round = 0; round <= k_rounds; ++round) {
    device.flush_cache();
    watch->start();
    for (int k = 0; k < k_launches; ++k)
      check(launch_nothing(stream_of(device)), "an empty kernel");
    watch->stop();
    device.synchronize();
    // Round 0 loads the kernel.
    if (round > 0)
      best_ns = round == 1 ? watch->elapsed_ns() : std::min(best_ns, watch->elapsed_ns());
  }
  return best_ns / k_launches;
}

enum class Waits { queued, idle };

/// Median time of `launches` empty kernels between two events: with all of it enqueued before any
/// of it starts, or with an idle device, which the host then keeps waiting.
double measure_events(CudaDevice& device, int launches, Waits waits) {
  constexpr int k_rounds = 101;
  constexpr double k_enqueueing_ns = 3e6;  // far more than 101 rounds take the host
  std::vector<std::unique_ptr<Stopwatch>> watches;
  for (int round = 0; round < k_rounds; ++round) watches.push_back(device.make_stopwatch());
  device.synchronize();
  if (waits == Waits::queued) device.wait_on_device(k_enqueueing_ns);
  for (const std::unique_ptr<Stopwatch>& watch : watches) {
    watch->start();
    for (int k = 0; k < launches; ++k) check(launch_nothing(stream_of(device)), "an empty kernel");
    watch->stop();
    if (waits == Waits::idle) device.synchronize();
  }
  device.synchronize();
  std::vector<double> times_ns;
  for (const std::unique_ptr<Stopwatch>& watch : watches) times_ns.push_back(watch->elapsed_ns());
  std::nth_element(times_ns.begin(), times_ns.begin() + k_rounds / 2, times_ns.end());
  return times_ns[k_rounds / 2];
}

}  // namespace

Speed measure_speed(CudaDevice& device) {
  Speed speed;
  speed.copy_bytes_per_s = measure_copy(device);
  speed.launch_ns = measure_launch(device);
  speed.costs.event_pair_ns = measure_events(device, 0, Waits::queued);
  speed.costs.empty_kernel_ns = measure_events(device, 1, Waits::queued);
  speed.costs.empty_kernel_idle_ns = measure_events(device, 1, Waits::idle);
  return speed;
}

}  // namespace kbench::cuda
