// What a plug-in may do to the device behind kbench's back, and that it is seen, told and put back.
#include <cuda_runtime_api.h>

#include <memory>
#include <optional>
#include <string>

#include "catch.h"
#include "device/device_cases.h"

namespace kbench::test {
namespace {

TEST_CASE("a raised limit of persisting lines is told once and put back", "[gpu]") {
  const auto device = open_gpu();
  int largest = 0;
  REQUIRE(cudaDeviceGetAttribute(&largest, cudaDevAttrMaxPersistingL2CacheSize, 0) == cudaSuccess);
  if (largest == 0) return;  // this GPU has no persisting lines
  REQUIRE(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 23) == cudaSuccess);
  const Disturbance found = device->disturbance();
  CHECK_THAT(found.what, StartsWith("raised the persisting-L2 limit to "));
  CHECK_THAT(found.what, ContainsSubstring("; leave cudaLimitPersistingL2CacheSize alone"));
  CHECK_FALSE(found.lost);
  CHECK(device->disturbance().what == "");
  std::size_t limit = 1;
  REQUIRE(cudaDeviceGetLimit(&limit, cudaLimitPersistingL2CacheSize) == cudaSuccess);
  CHECK(limit < (1 << 23));
}

TEST_CASE("another current device is told once and put back", "[gpu]") {
  const auto device = open_gpu();
  int count = 0;
  REQUIRE(cudaGetDeviceCount(&count) == cudaSuccess);
  if (count < 2) return;  // there is no other device to make current
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  CHECK(device->disturbance().what ==
        "left CUDA device `1` current (kbench uses `0`); put the device back before returning");
  CHECK(device->disturbance().what == "");
  int current = 1;
  REQUIRE(cudaGetDevice(&current) == cudaSuccess);
  CHECK(current == 0);
}

TEST_CASE("a GPU tells its clock and its temperature", "[gpu]") {
  const auto device = open_gpu();
  std::string why;
  const std::optional<ClockState> state = device->clock_state(&why);
  CAPTURE(why);
  REQUIRE(state);
  CHECK(state->sm_mhz.value_or(0) > 100);
  CHECK(state->temperature_c.value_or(0) > 10);
  CHECK(state->power_w.value_or(0) > 10);
  CHECK(state->throttle_reasons);
}

TEST_CASE("a device that was reset is lost, and can still be let go", "[gpu]") {
  auto device = open_gpu();
  Buffer<float> buffer(*device, 1000);
  auto watch = device->make_stopwatch();
  REQUIRE(cudaDeviceReset() == cudaSuccess);
  for (int time = 0; time < 2; ++time) {
    const Disturbance found = device->disturbance();
    CHECK_THAT(found.what, StartsWith("reset the device ("));
    CHECK(found.lost);
  }
  buffer = Buffer<float>();
  watch.reset();
  device.reset();
  // Another one can be opened.
  const auto next = open_gpu();
  CHECK(next->disturbance().what == "");
  const Buffer<std::uint8_t> bytes(*next, 100);
  next->fill(bytes.get(), 3, 100);
  CHECK(next->holds_only(bytes.get(), 3, 100));
}

TEST_CASE("work that was left on another stream shows when the device is drained", "[gpu]") {
  const auto device = open_gpu();
  const Buffer<std::uint8_t> buffer(*device, std::int64_t{1} << 32);
  cudaStream_t other = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) == cudaSuccess);
  // 4 GiB take a GPU with 5 TB/s most of a millisecond.
  REQUIRE(cudaMemsetAsync(buffer.get(), 1, static_cast<std::size_t>(buffer.bytes()), other) ==
          cudaSuccess);
  CHECK(device->drain(0) > 50e3);
  REQUIRE(cudaStreamDestroy(other) == cudaSuccess);
}

TEST_CASE("after a sleep the wait holds what it costs and no work of another stream", "[gpu]") {
  const auto device = open_gpu();
  const Buffer<std::uint8_t> buffer(*device, std::int64_t{1} << 32);
  cudaStream_t other = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(cudaMemsetAsync(buffer.get(), 1, static_cast<std::size_t>(buffer.bytes()), other) ==
          cudaSuccess);
  CHECK(device->drain(20e6) < 200e3);
  REQUIRE(cudaStreamDestroy(other) == cudaSuccess);
}

TEST_CASE("an idle device is drained in less than what counts as work left behind", "[gpu]") {
  const auto device = open_gpu();
  const Buffer<std::uint8_t> buffer(*device, 1 << 20);
  int late = 0;
  for (int round = 0; round < 200; ++round) {
    device->fill(buffer.get(), 1, buffer.bytes());
    if (device->drain(0) > 20e3) ++late;
  }
  // This thread may lose its processor now and then.
  CHECK(late < 20);
}

}  // namespace
}  // namespace kbench::test
