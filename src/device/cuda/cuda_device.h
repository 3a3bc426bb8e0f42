// One CUDA device: memory, a stream, cache flush, stopwatch, profiler range.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "device/cuda/cuda_ops.h"
#include "device/device.h"
#include "device/nvml/nvml.h"

namespace kbench::cuda {

/// `GPU-01234567-89ab-cdef-0123-456789abcdef`, as the vendor's tools write it.
std::string uuid_text(const std::array<std::uint8_t, 16>& bytes);

/// max(2 x L2, 256 MiB), but at most a quarter of the free memory unless that is below 2 x L2.
std::int64_t flush_size(std::int64_t cache_bytes, std::int64_t free_bytes);

struct DestroyStream {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};

/// Uses the primary context of device `index`, from the thread that makes it.
class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const DeviceInfo& info() const override { return info_; }
  std::int64_t free_bytes() override;
  std::int64_t used_bytes() override { return info_.memory_bytes - free_bytes(); }

  void* allocate(std::int64_t bytes) override;
  void release(void* data) noexcept override;
  void copy(void* to, const void* from, std::int64_t bytes) override;
  void upload(void* to, const void* from, std::int64_t bytes) override;
  void download(void* to, const void* from, std::int64_t bytes) override;
  void fill(void* data, std::uint8_t byte, std::int64_t bytes) override;
  bool holds_only(const void* data, std::uint8_t byte, std::int64_t bytes) override;
  bool equal(const void* a, const void* b, std::int64_t bytes) override;

  void synchronize() override;
  double drain(double settle_ns) override;
  void check_launch() override;
  void flush_cache() override;
  void clean_cache() override;
  Disturbance disturbance() override;
  Speed speed() override;
  std::optional<ClockState> clock_state(std::string* why) override;
  std::unique_ptr<Stopwatch> make_stopwatch() override;
  std::unique_ptr<Hold> make_hold() override;
  void wait_on_device(double ns) override;
  void* stream() override { return stream_.get(); }

  void profiler_start() override;
  void profiler_stop() override;
  void range_push(const char* name) override;
  void range_pop() override;

  Ops& ops() override { return *ops_; }

 private:
  void disable_persisting_lines(int index);
  void describe_device(int index);
  /// True once the context that kbench's stream and memory belong to has been destroyed.
  bool has_lost_context();
  std::string restore_current_device();
  std::string restore_persisting_limit();
  void transfer(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind,
                const char* what);

  // Nothing of the context may be touched any more. Outlives all that is released below.
  bool lost_ = false;
  // Destroyed last: the members below release what they enqueued on it.
  std::unique_ptr<CUstream_st, DestroyStream> stream_;
  DeviceInfo info_;
  bool resets_persisting_lines_ = false;
  std::size_t persisting_limit_ = 0;
  Buffer<std::uint8_t> canary_;  // known to the runtime as long as the context lives
  Buffer<std::uint8_t> flush_buffer_;
  std::optional<Speed> speed_;
  std::unique_ptr<nvml::Gpu> gpu_;  // opened by the first question
  bool asked_nvml_ = false;
  std::string no_nvml_;
  std::unique_ptr<CudaOps> ops_;
};

/// Takes a few milliseconds of an idle device (cuda_speed.cpp).
Speed measure_speed(CudaDevice& device);

}  // namespace kbench::cuda
