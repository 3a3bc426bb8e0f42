// A device: memory, one stream, cache flush, stopwatch, profiler range, and the operations (`Ops`)
// that problems are written in. Two implementations: cuda/ and host/.
//
// All work is enqueued on one stream in order; functions that return data to the host wait for it.
// A CUDA failure throws DeviceError, which says whether the context is lost.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/launch.h"
#include "core/message.h"

namespace kbench {

class Ops;

/// A failed device call. `sticky`: every later call of this process fails too.
class DeviceError : public Error {
 public:
  DeviceError(const std::string& message, bool sticky)
      : Error(ExitCode::device, message), sticky_(sticky) {}
  bool sticky() const noexcept { return sticky_; }

 private:
  bool sticky_;
};

/// What a plug-in did to the device behind kbench's back.
struct Disturbance {
  std::string what;   ///< completes `custom_kernel ...`, with what to do instead; empty: nothing
  bool lost = false;  ///< nothing of this process can be done on the device any more
};

/// The best a device does, for the time below which no honest result lies. 0: does not apply.
struct Speed {
  double copy_bytes_per_s = 0;  ///< of a large copy: bytes read plus bytes written
  double launch_ns = 0;         ///< of one empty launch among several in a row
  LaunchCosts costs = {};
};

/// Times one stretch of the stream. Resolution and meaning: DeviceInfo::clock.
class Stopwatch {
 public:
  virtual ~Stopwatch() = default;
  virtual void start() = 0;
  virtual void stop() = 0;
  /// Nanoseconds between start and stop; call after Device::synchronize.
  virtual double elapsed_ns() = 0;
};

/// Holds back what is enqueued behind it until it is released, or its limit has passed. Destruction
/// releases it.
class Hold {
 public:
  virtual ~Hold() = default;
  /// Enqueues the hold; not before the one before has been released and waited for.
  virtual void place(double limit_s) = 0;
  /// From any thread, as often as one likes; makes no device call.
  virtual void release() noexcept = 0;
  /// Once the device has been waited for or has left: whether the last hold ended by its limit.
  virtual bool expired() const = 0;
  /// From any thread, without a device call: whether the device has left the last hold, for
  /// whatever reason.
  virtual bool left() const = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;
  /// Bytes free now.
  virtual std::int64_t free_bytes() = 0;
  /// Bytes taken now, for the difference of two readings: all that is not free on a CUDA device,
  /// whoever holds it and in blocks of the driver's size; on the host what malloc has given out in
  /// this process, nothing under a sanitizer.
  virtual std::int64_t used_bytes() = 0;

  /// 256-byte aligned; null for 0 bytes. Throws DeviceError naming need and free on failure.
  virtual void* allocate(std::int64_t bytes) = 0;
  virtual void release(void* data) noexcept = 0;

  virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;      ///< on the device
  virtual void upload(void* to, const void* from, std::int64_t bytes) = 0;    ///< waits
  virtual void download(void* to, const void* from, std::int64_t bytes) = 0;  ///< waits
  virtual void fill(void* data, std::uint8_t byte, std::int64_t bytes) = 0;
  /// True when all `bytes` bytes equal `byte`. Waits.
  virtual bool holds_only(const void* data, std::uint8_t byte, std::int64_t bytes) = 0;

  /// True when both stretches hold the same bytes. Waits.
  virtual bool equal(const void* a, const void* b, std::int64_t bytes) = 0;

  /// Waits for the whole device. Throws DeviceError for any error since the last call.
  virtual void synchronize() = 0;
  /// Waits for the stream, sleeps `settle_ns` nanoseconds, then waits for the whole device: the
  /// nanoseconds of that last wait. Work elsewhere lengthens it, but so does what the driver tidies
  /// up after many launches (tens of microseconds), which a sleep does not shorten. 0 on the host,
  /// where nothing tells. Throws like synchronize.
  virtual double drain(double settle_ns) = 0;
  /// Throws DeviceError when the last launch failed (a launch error of a plug-in shows here). Does
  /// not wait.
  virtual void check_launch() = 0;

  /// Overwrites a persistent buffer of info().flush_bytes so that no earlier data stay in the
  /// cache, and resets persisting lines. Enqueued; allocates on first use only.
  virtual void flush_cache() = 0;
  /// Reads the buffer of flush_cache through, so that no dirty line stays in the cache: what is
  /// timed next pays for no write-back but its own. Enqueued.
  virtual void clean_cache() = 0;

  /// What a plug-in has changed since the last call (current device, limit of persisting lines) or
  /// destroyed. What can be put back is put back. Does not wait.
  virtual Disturbance disturbance() = 0;
  /// Measured on the first call, a few milliseconds of an idle device; then remembered.
  virtual Speed speed() = 0;

  /// Clocks, heat and power now; nothing, with `why` in words where they could have been known,
  /// where nobody tells. By default a device has no such state.
  virtual std::optional<ClockState> clock_state(std::string* /*why*/) { return std::nullopt; }

  virtual std::unique_ptr<Stopwatch> make_stopwatch() = 0;
  /// Null on a device without a queue, which is the default. Must not be used under a profiler that
  /// runs one launch at a time: it would wait for its limit.
  virtual std::unique_ptr<Hold> make_hold() { return nullptr; }
  /// Enqueues so many nanoseconds of waiting; nothing by default.
  virtual void wait_on_device(double /*ns*/) {}
  /// cudaStream_t of all work; null on the host.
  virtual void* stream() = 0;

  /// Capture range of an external profiler (cudaProfilerStart/Stop) and the NVTX range
  /// `custom_kernel`. No-ops on the host.
  virtual void profiler_start() = 0;
  virtual void profiler_stop() = 0;
  virtual void range_push(const char* name) = 0;
  virtual void range_pop() = 0;

  virtual Ops& ops() = 0;
};

/// Opens the device asked for. `automatic`: CUDA device `index` (counted round) when there is one,
/// else the host, and `note` says so. A CUDA device that is asked for and missing throws
/// Error(device).
std::unique_ptr<Device> open_device(const DeviceRequest& request, std::string* note);

/// Every device of this machine, the host last.
std::vector<DeviceInfo> list_devices();

/// cuda/open.cpp with a toolkit, cuda_stub.cpp without. `cuda_device_count` is 0 with `why` set
/// when there is no usable device (no driver, stub driver, driver too old, none visible, built
/// without).
int cuda_device_count(std::string* why);
std::unique_ptr<Device> open_cuda_device(int index);
std::unique_ptr<Device> open_host_device();

/// Owned device memory of `count` elements of T.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, std::int64_t count)
      : device_(&device),
        data_(static_cast<T*>(device.allocate(count * std::int64_t{sizeof(T)}))),
        count_(count) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) device_->release(data_);
  }
  T* get() const { return data_; }
  std::int64_t count() const { return count_; }
  std::int64_t bytes() const { return count_ * std::int64_t{sizeof(T)}; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }
  Device* device_ = nullptr;
  T* data_ = nullptr;
  std::int64_t count_ = 0;
};

/// Uploads a host array into a new buffer.
template <class T>
Buffer<T> to_device(Device& device, std::span<const T> values) {
  Buffer<T> buffer(device, static_cast<std::int64_t>(values.size()));
  device.upload(buffer.get(), values.data(), buffer.bytes());
  return buffer;
}

/// Downloads `count` elements.
template <class T>
std::vector<T> to_host(Device& device, const T* data, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  device.download(values.data(), data, count * std::int64_t{sizeof(T)});
  return values;
}

}  // namespace kbench
