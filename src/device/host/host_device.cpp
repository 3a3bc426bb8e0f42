// Memory, copies, cache flush and stopwatch of the host device. Knows nothing of matrices: the
// operations are HostOps.
#include "device/host/host_device.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "device/host/host_info.h"
#include "device/host/parallel.h"

namespace kbench {
namespace host {
namespace {

constexpr std::int64_t k_alignment = 256;
constexpr std::int64_t k_page_bytes = 4096;
// Work is shared out in stretches of this size, so that one thread is busy for some 10 us at least.
constexpr std::int64_t k_stretch_bytes = std::int64_t{1} << 18;

class SteadyStopwatch : public Stopwatch {
 public:
  void start() override { start_ = std::chrono::steady_clock::now(); }
  void stop() override { stop_ = std::chrono::steady_clock::now(); }
  double elapsed_ns() override {
    return std::chrono::duration<double, std::nano>(stop_ - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_, stop_;
};

// Visits [0, bytes) in stretches, on several threads when there are many.
void for_stretches(std::int64_t bytes,
                   const std::function<void(std::int64_t first, std::size_t length)>& body) {
  // Few bytes cost as little as they can: the copies between the calls of an audit repeat must not
  // tell it from another.
  if (bytes <= k_stretch_bytes) {
    if (bytes > 0) body(0, static_cast<std::size_t>(bytes));
    return;
  }
  const std::int64_t stretches = (bytes + k_stretch_bytes - 1) / k_stretch_bytes;
  parallel_for(stretches, k_stretch_bytes / 8, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * k_stretch_bytes;
    body(first, static_cast<std::size_t>(std::min(bytes, end * k_stretch_bytes) - first));
  });
}

double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) * 0x1p-20; }

std::uint8_t* at(void* data, std::int64_t offset) {
  return static_cast<std::uint8_t*>(data) + offset;
}
const std::uint8_t* at(const void* data, std::int64_t offset) {
  return static_cast<const std::uint8_t*>(data) + offset;
}

}  // namespace

HostDevice::HostDevice() : info_(describe_host()) {}

std::int64_t HostDevice::free_bytes() { return read_memory().free_bytes; }

std::int64_t HostDevice::used_bytes() {
  const struct mallinfo2 heap = mallinfo2();
  return static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
}

void* HostDevice::allocate(std::int64_t bytes) {
  KBENCH_ASSERT(bytes >= 0);
  if (bytes == 0) return nullptr;
  const std::int64_t free = free_bytes();
  void* data = nullptr;
  if (bytes <= free) {
    const std::int64_t rounded = (bytes + k_alignment - 1) / k_alignment * k_alignment;
    data = std::aligned_alloc(std::size_t{k_alignment}, static_cast<std::size_t>(rounded));
  }
  if (data == nullptr) {
    throw DeviceError(
        fmt::format("cannot allocate {:.1f} MiB on the host ({:.1f} MiB free of {:.1f} MiB); use a "
                    "smaller batch or n",
                    mebibytes(bytes), mebibytes(free), mebibytes(info_.memory_bytes)),
        false);
  }
  // Untouched pages are not taken from the machine yet: touched now, the next allocation sees what
  // is really free and is refused in words instead of being killed later.
  for_stretches(bytes, [&](std::int64_t first, std::size_t length) {
    for (std::int64_t i = first; i < first + static_cast<std::int64_t>(length); i += k_page_bytes) {
      *static_cast<volatile std::uint8_t*>(at(data, i)) = 0;
    }
  });
  return data;
}

void HostDevice::release(void* data) noexcept { std::free(data); }

void HostDevice::copy(void* to, const void* from, std::int64_t bytes) {
  for_stretches(bytes, [&](std::int64_t first, std::size_t length) {
    std::memcpy(at(to, first), at(from, first), length);
  });
}
void HostDevice::upload(void* to, const void* from, std::int64_t bytes) { copy(to, from, bytes); }
void HostDevice::download(void* to, const void* from, std::int64_t bytes) { copy(to, from, bytes); }

void HostDevice::fill(void* data, std::uint8_t byte, std::int64_t bytes) {
  for_stretches(bytes, [&](std::int64_t first, std::size_t length) {
    std::memset(at(data, first), byte, length);
  });
}

bool HostDevice::holds_only(const void* data, std::uint8_t byte, std::int64_t bytes) {
  if (bytes <= 0) return true;
  // The first byte is right and each byte equals the one before it.
  return *at(data, 0) == byte &&
         std::memcmp(at(data, 0), at(data, 1), static_cast<std::size_t>(bytes - 1)) == 0;
}

bool HostDevice::equal(const void* a, const void* b, std::int64_t bytes) {
  return bytes <= 0 || std::memcmp(a, b, static_cast<std::size_t>(bytes)) == 0;
}

void HostDevice::flush_cache() {
  if (flush_.get() == nullptr) flush_ = Buffer<std::uint8_t>(*this, info_.flush_bytes);
  fill(flush_.get(), ++flush_byte_, flush_.bytes());
}

void HostDevice::clean_cache() {
  if (flush_.get() == nullptr) flush_cache();
  for_stretches(flush_.bytes(), [&](std::int64_t first, std::size_t length) {
    constexpr std::int64_t k_line_bytes = 64;
    for (std::int64_t i = first; i < first + static_cast<std::int64_t>(length); i += k_line_bytes) {
      static_cast<void>(*static_cast<const volatile std::uint8_t*>(at(flush_.get(), i)));
    }
  });
}

// Small enough to cost milliseconds at most. Where it fits into a cache it is copied too fast,
// which only makes the floor lower.
Speed HostDevice::speed() {
  if (speed_) return *speed_;
  constexpr std::int64_t k_bytes = std::int64_t{16} << 20;
  constexpr int k_rounds = 8;
  const Buffer<std::uint8_t> from(*this, k_bytes), to(*this, k_bytes);
  SteadyStopwatch watch;
  double best_ns = 0;
  for (int round = 0; round < k_rounds; ++round) {
    watch.start();
    copy(to.get(), from.get(), k_bytes);
    watch.stop();
    best_ns = round == 0 ? watch.elapsed_ns() : std::min(best_ns, watch.elapsed_ns());
  }
  speed_ = Speed{2e9 * static_cast<double>(k_bytes) / std::max(best_ns, 1.0), 0};
  return *speed_;
}

std::unique_ptr<Stopwatch> HostDevice::make_stopwatch() {
  return std::make_unique<SteadyStopwatch>();
}

}  // namespace host

std::unique_ptr<Device> open_host_device() { return std::make_unique<host::HostDevice>(); }

}  // namespace kbench
