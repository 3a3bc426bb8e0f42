// Holding the stream back, and what the device charges for nothing.
#include <cuda_runtime_api.h>

#include <chrono>
#include <memory>

#include "catch.h"
#include "device/device_cases.h"

namespace kbench::test {
namespace {

cudaStream_t stream_of(Device& device) { return static_cast<cudaStream_t>(device.stream()); }

TEST_CASE("what is enqueued behind a hold begins when it is released", "[gpu]") {
  const auto device = open_gpu();
  const std::unique_ptr<Hold> hold = device->make_hold();
  REQUIRE(hold != nullptr);
  const Buffer<std::uint8_t> bytes(*device, 1000);
  for (int round = 0; round < 3; ++round) {
    device->synchronize();
    hold->place(60);
    device->fill(bytes.get(), 7, 1000);
    CHECK(cudaStreamQuery(stream_of(*device)) == cudaErrorNotReady);
    hold->release();
    device->synchronize();
    CHECK_FALSE(hold->expired());
    CHECK(device->holds_only(bytes.get(), 7, 1000));
  }
}

TEST_CASE("a hold that nobody releases ends by its limit and says so", "[gpu]") {
  const auto device = open_gpu();
  const std::unique_ptr<Hold> hold = device->make_hold();
  hold->place(0.01);
  device->synchronize();
  CHECK(hold->expired());
  // The next one is a new one.
  hold->place(60);
  hold->release();
  device->synchronize();
  CHECK_FALSE(hold->expired());
}

TEST_CASE("without a device call the host sees that a hold is over, and why", "[gpu]") {
  using Clock = std::chrono::steady_clock;
  const auto device = open_gpu();
  const std::unique_ptr<Hold> hold = device->make_hold();
  for (const bool released : {true, false, true}) {
    device->synchronize();
    hold->place(released ? 60 : 0.05);
    CHECK_FALSE(hold->left());
    if (released) hold->release();
    const Clock::time_point deadline = Clock::now() + std::chrono::seconds(5);
    while (!hold->left() && Clock::now() < deadline) {
    }
    CHECK(hold->left());
    CHECK(hold->expired() == !released);
  }
}

TEST_CASE("a hold that is dropped holds nothing up", "[gpu]") {
  const auto device = open_gpu();
  std::unique_ptr<Hold> hold = device->make_hold();
  hold->place(60);
  hold.reset();
  device->synchronize();
}

TEST_CASE("a wait on the device takes as long as it was asked to", "[gpu]") {
  const auto device = open_gpu();
  const std::unique_ptr<Stopwatch> watch = device->make_stopwatch();
  for (const double ns : {2e5, 1e6}) {
    watch->start();
    device->wait_on_device(ns);
    watch->stop();
    device->synchronize();
    CHECK(watch->elapsed_ns() >= 0.99 * ns);
    CHECK(watch->elapsed_ns() <= ns + 1e5);  // launch and clock ticks
  }
}

TEST_CASE("nothing costs less than an empty kernel, and least in a full queue", "[gpu]") {
  const LaunchCosts costs = open_gpu()->speed().costs;
  CAPTURE(costs.event_pair_ns, costs.empty_kernel_ns, costs.empty_kernel_idle_ns);
  CHECK(costs.event_pair_ns > 100);
  CHECK(costs.event_pair_ns < costs.empty_kernel_ns);
  CHECK(costs.empty_kernel_ns < costs.empty_kernel_idle_ns);
  CHECK(costs.empty_kernel_idle_ns < 100e3);
}

}  // namespace
}  // namespace kbench::test
