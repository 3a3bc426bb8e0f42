// The CUDA device: memory and order of work. Knows no operation (cuda_ops) and no kernel plug-in.
#include "device/cuda/cuda_device.h"

#include <cuda_profiler_api.h>
#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "device/cuda/cuda_error.h"
#include "device/cuda/driver_version.h"
#include "device/cuda/hold.h"
#include "device/cuda/launches.h"

namespace kbench::cuda {
namespace {

double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

int attribute(cudaDeviceAttr name, int index) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, name, index), "cudaDeviceGetAttribute");
  return value;
}

// Two timing events: stream time from the first to the second. Once the context is lost they are
// not touched any more.
class EventStopwatch final : public Stopwatch {
 public:
  EventStopwatch(cudaStream_t stream, const bool& lost) : stream_(stream), lost_(lost) {
    check(cudaEventCreate(&begin_), "cudaEventCreate");
    const cudaError_t made = cudaEventCreate(&end_);
    if (made != cudaSuccess) cudaEventDestroy(begin_);
    check(made, "cudaEventCreate");
  }
  ~EventStopwatch() override {
    if (lost_) return;
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  EventStopwatch(const EventStopwatch&) = delete;
  EventStopwatch& operator=(const EventStopwatch&) = delete;

  void start() override { check(cudaEventRecord(begin_, stream_), "cudaEventRecord"); }
  void stop() override { check(cudaEventRecord(end_, stream_), "cudaEventRecord"); }
  double elapsed_ns() override {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e6;
  }

 private:
  cudaStream_t stream_;
  const bool& lost_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

std::string uuid_text(const std::array<std::uint8_t, 16>& bytes) {
  std::string text = "GPU";
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    if (k == 0 || k == 4 || k == 6 || k == 8 || k == 10) text += '-';
    text += fmt::format("{:02x}", bytes[k]);
  }
  return text;
}

std::int64_t flush_size(std::int64_t cache_bytes, std::int64_t free_bytes) {
  constexpr std::int64_t k_usual = std::int64_t{256} << 20;
  const std::int64_t least = 2 * cache_bytes;
  return std::min(std::max(least, k_usual), std::max(free_bytes / 4, least));
}

CudaDevice::CudaDevice(int index) {
  check(cudaSetDevice(index), fmt::format("opening CUDA device `{}`", index));
  check(probe_kernel_image(), fmt::format("loading kbench's kernels on CUDA device `{}`", index));
  // Not cudaStreamNonBlocking: what a plug-in enqueues on the legacy default stream must come after
  // the start event and before the end event of this stream.
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamDefault), "cudaStreamCreate");
  stream_.reset(stream);
  disable_persisting_lines(index);
  describe_device(index);
  canary_ = Buffer<std::uint8_t>(*this, 1);
  ops_ = std::make_unique<CudaOps>(*this, stream);
}

// Handles of a context that is gone must not be given back: they are left behind.
CudaDevice::~CudaDevice() {
  if (!lost_) return;
  static_cast<void>(stream_.release());
  static_cast<void>(ops_.release());
}

// Lines that a kernel marked as persisting survive a flush; no kernel gets any to mark. A device
// that knows no such limit has no such lines.
void CudaDevice::disable_persisting_lines(int index) {
  if (attribute(cudaDevAttrMaxPersistingL2CacheSize, index) == 0) return;
  const cudaError_t limited = cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0);
  if (limited == cudaErrorUnsupportedLimit || limited == cudaErrorNotSupported) {
    cudaGetLastError();
    return;
  }
  check(limited, "cudaDeviceSetLimit");
  check(cudaDeviceGetLimit(&persisting_limit_, cudaLimitPersistingL2CacheSize),
        "cudaDeviceGetLimit");
  resets_persisting_lines_ = true;
}

void CudaDevice::describe_device(int index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  int runtime = 0;
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  std::array<std::uint8_t, 16> uuid{};
  std::copy_n(reinterpret_cast<const std::uint8_t*>(properties.uuid.bytes), uuid.size(),
              uuid.begin());
  info_.kind = DeviceKind::cuda;
  info_.index = index;
  info_.name = properties.name;
  info_.uuid = uuid_text(uuid);
  info_.capability = fmt::format("{}.{}", properties.major, properties.minor);
  info_.driver = driver_version();
  info_.runtime = version_text(runtime);
  info_.libraries = Libraries::versions();
  info_.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  info_.free_bytes = free_bytes();
  info_.cache_bytes = attribute(cudaDevAttrL2CacheSize, index);
  info_.flush_bytes = flush_size(info_.cache_bytes, info_.free_bytes);
  info_.multiprocessors = properties.multiProcessorCount;
  info_.clock = "cuda_event";
}

std::int64_t CudaDevice::free_bytes() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return static_cast<std::int64_t>(free);
}

void* CudaDevice::allocate(std::int64_t bytes) {
  KBENCH_ASSERT(bytes >= 0);
  if (bytes == 0) return nullptr;
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, static_cast<std::size_t>(bytes));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw DeviceError(
        fmt::format("cannot allocate {:.1f} MiB on the device ({:.1f} MiB free of {:.1f} MiB); use "
                    "a smaller batch, or free the device",
                    mebibytes(bytes), mebibytes(free_bytes()), mebibytes(info_.memory_bytes)),
        false);
  }
  check(status, fmt::format("allocating {:.1f} MiB", mebibytes(bytes)));
  return data;
}

void CudaDevice::release(void* data) noexcept {
  if (!lost_ && cudaFree(data) != cudaSuccess) cudaGetLastError();
}

void CudaDevice::transfer(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind,
                          const char* what) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, stream_.get()), what);
  if (kind != cudaMemcpyDeviceToDevice) check(cudaStreamSynchronize(stream_.get()), what);
}

void CudaDevice::copy(void* to, const void* from, std::int64_t bytes) {
  transfer(to, from, bytes, cudaMemcpyDeviceToDevice, "copying on the device");
}

void CudaDevice::upload(void* to, const void* from, std::int64_t bytes) {
  transfer(to, from, bytes, cudaMemcpyHostToDevice, "copying to the device");
}

void CudaDevice::download(void* to, const void* from, std::int64_t bytes) {
  transfer(to, from, bytes, cudaMemcpyDeviceToHost, "copying from the device");
}

void CudaDevice::fill(void* data, std::uint8_t byte, std::int64_t bytes) {
  if (bytes == 0) return;
  check(cudaMemsetAsync(data, byte, static_cast<std::size_t>(bytes), stream_.get()),
        "filling memory");
}

bool CudaDevice::holds_only(const void* data, std::uint8_t byte, std::int64_t bytes) {
  return ops_->holds_only(data, byte, bytes);
}

bool CudaDevice::equal(const void* a, const void* b, std::int64_t bytes) {
  return ops_->equal(a, b, bytes);
}

void CudaDevice::synchronize() {
  // The whole device, as the public evaluator waits: work that a plug-in left on a stream of its
  // own must not run on into the check of its outputs, nor fail unseen.
  check(cudaDeviceSynchronize(), "waiting for the device");
  check_launch();
}

double CudaDevice::drain(double settle_ns) {
  using Clock = std::chrono::steady_clock;
  check(cudaStreamSynchronize(stream_.get()), "waiting for the stream");
  if (settle_ns > 0)
    std::this_thread::sleep_for(std::chrono::duration<double, std::nano>(settle_ns));
  const Clock::time_point begin = Clock::now();
  check(cudaDeviceSynchronize(), "waiting for the device");
  const double waited_ns = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  check_launch();
  return waited_ns;
}

bool CudaDevice::has_lost_context() {
  if (lost_) return true;
  // Not the stream: a handle of a destroyed context may not even be asked about. A pointer may, and
  // is then unknown. Any other error is told by the calls that wait.
  cudaPointerAttributes attributes{};
  const cudaError_t status = cudaPointerGetAttributes(&attributes, canary_.get());
  if (status != cudaSuccess) cudaGetLastError();
  lost_ = status == cudaErrorContextIsDestroyed ||
          (status == cudaSuccess && attributes.type == cudaMemoryTypeUnregistered);
  return lost_;
}

std::string CudaDevice::restore_current_device() {
  int current = info_.index;
  check(cudaGetDevice(&current), "cudaGetDevice");
  if (current == info_.index) return "";
  check(cudaSetDevice(info_.index), "cudaSetDevice");
  return fmt::format(
      "left CUDA device `{}` current (kbench uses `{}`); put the device back before returning",
      current, info_.index);
}

std::string CudaDevice::restore_persisting_limit() {
  if (!resets_persisting_lines_) return "";
  std::size_t limit = 0;
  check(cudaDeviceGetLimit(&limit, cudaLimitPersistingL2CacheSize), "cudaDeviceGetLimit");
  if (limit <= persisting_limit_) return "";
  check(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, persisting_limit_),
        "cudaDeviceSetLimit");
  return fmt::format(
      "raised the persisting-L2 limit to {:.1f} MiB (its lines would survive the flush); leave "
      "cudaLimitPersistingL2CacheSize alone",
      mebibytes(static_cast<std::int64_t>(limit)));
}

Disturbance CudaDevice::disturbance() {
  const std::string device = restore_current_device();
  if (has_lost_context()) {
    return {"reset the device (kbench's stream and memory are gone); leave cudaDeviceReset out",
            true};
  }
  return {device.empty() ? restore_persisting_limit() : device, false};
}

void CudaDevice::check_launch() { check(cudaGetLastError(), "a launch since the last check"); }

void CudaDevice::flush_cache() {
  if (flush_buffer_.get() == nullptr)
    flush_buffer_ = Buffer<std::uint8_t>(*this, info_.flush_bytes);
  if (resets_persisting_lines_)
    check(cudaCtxResetPersistingL2Cache(), "resetting persisting lines");
  // Writes only, as the public evaluator's flush: the cache is left full of dirty lines.
  fill(flush_buffer_.get(), 42, info_.flush_bytes);
}

// Each line that is read pushes one out that the flush has left dirty.
void CudaDevice::clean_cache() {
  if (flush_buffer_.get() == nullptr) flush_cache();
  check(launch_read(stream_.get(), flush_buffer_.get(), info_.flush_bytes), "cleaning the cache");
}

std::unique_ptr<Stopwatch> CudaDevice::make_stopwatch() {
  return std::make_unique<EventStopwatch>(stream_.get(), lost_);
}

Speed CudaDevice::speed() {
  if (!speed_) speed_ = measure_speed(*this);
  return *speed_;
}

std::optional<ClockState> CudaDevice::clock_state(std::string* why) {
  if (!asked_nvml_) gpu_ = nvml::open(nvml::k_library, info_.uuid, no_nvml_);
  asked_nvml_ = true;
  if (gpu_ != nullptr) return gpu_->read();
  *why = no_nvml_;
  return std::nullopt;
}

std::unique_ptr<Hold> CudaDevice::make_hold() {
  return std::make_unique<HostReleasedHold>(stream_.get(), lost_);
}

void CudaDevice::wait_on_device(double ns) {
  check(launch_wait(stream_.get(), static_cast<std::uint64_t>(ns)), "keeping the device waiting");
}

void CudaDevice::profiler_start() { check(cudaProfilerStart(), "cudaProfilerStart"); }

void CudaDevice::profiler_stop() { check(cudaProfilerStop(), "cudaProfilerStop"); }

void CudaDevice::range_push(const char* name) { nvtxRangePushA(name); }

void CudaDevice::range_pop() { nvtxRangePop(); }

}  // namespace kbench::cuda
