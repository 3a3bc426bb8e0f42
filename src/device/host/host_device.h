// The host as a device: memory of the process, steady_clock, LAPACK and BLAS.
#pragma once

#include <optional>

#include "device/device.h"
#include "device/host/host_ops.h"

namespace kbench::host {

/// All work of kbench's own is done when a call returns, so there is nothing to wait for. Threads
/// of a plug-in cannot be waited for.
class HostDevice : public Device {
 public:
  HostDevice();

  const DeviceInfo& info() const override { return info_; }
  std::int64_t free_bytes() override;
  std::int64_t used_bytes() override;
  void* allocate(std::int64_t bytes) override;
  void release(void* data) noexcept override;
  void copy(void* to, const void* from, std::int64_t bytes) override;
  void upload(void* to, const void* from, std::int64_t bytes) override;
  void download(void* to, const void* from, std::int64_t bytes) override;
  void fill(void* data, std::uint8_t byte, std::int64_t bytes) override;
  bool holds_only(const void* data, std::uint8_t byte, std::int64_t bytes) override;
  bool equal(const void* a, const void* b, std::int64_t bytes) override;
  void synchronize() override {}
  double drain(double) override { return 0; }
  void check_launch() override {}
  void flush_cache() override;
  void clean_cache() override;
  Disturbance disturbance() override { return {}; }
  Speed speed() override;
  std::unique_ptr<Stopwatch> make_stopwatch() override;
  void* stream() override { return nullptr; }
  void profiler_start() override {}
  void profiler_stop() override {}
  void range_push(const char*) override {}
  void range_pop() override {}
  Ops& ops() override { return ops_; }

 private:
  DeviceInfo info_;
  HostOps ops_;
  Buffer<std::uint8_t> flush_;
  std::uint8_t flush_byte_ = 0;
  std::optional<Speed> speed_;
};

}  // namespace kbench::host
