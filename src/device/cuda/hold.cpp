// Holds the stream back by a kernel that spins on mapped host memory. Knows nothing of what is held
// back, nor of the watchdog that lets go when its owner cannot.
#include "device/cuda/hold.h"

#include <new>

#include "device/cuda/cuda_error.h"

namespace kbench::cuda {
namespace {

constexpr double k_rehearsal_s = 1;

}  // namespace

HostReleasedHold::HostReleasedHold(cudaStream_t stream, const bool& lost)
    : stream_(stream), lost_(lost) {
  void* words = nullptr;
  check(cudaHostAlloc(&words, sizeof(HoldWords), cudaHostAllocMapped), "cudaHostAlloc");
  words_ = new (words) HoldWords{};
  try {
    void* seen = nullptr;
    check(cudaHostGetDevicePointer(&seen, words, 0), "cudaHostGetDevicePointer");
    device_words_ = static_cast<HoldWords*>(seen);
    // Released before it is placed: this must not wait even where each launch waits for its end.
    ++ticket_;
    release();
    --ticket_;
    place(k_rehearsal_s);
    check(cudaStreamSynchronize(stream_), "trying the kernel that holds launches back");
  } catch (...) {
    cudaFreeHost(words_);
    throw;
  }
}

HostReleasedHold::~HostReleasedHold() {
  release();
  if (lost_) return;
  // The kernel may still read the word.
  if (cudaStreamSynchronize(stream_) != cudaSuccess || cudaFreeHost(words_) != cudaSuccess) {
    cudaGetLastError();
  }
}

void HostReleasedHold::place(double limit_s) {
  ++ticket_;
  check(launch_hold(stream_, device_words_, ticket_, static_cast<std::uint64_t>(limit_s * 1e9)),
        "the kernel that holds launches back");
}

void HostReleasedHold::release() noexcept {
  // The device reads it by itself, another thread of the host may write the same value.
  std::atomic_ref<std::uint32_t>(words_->opened).store(ticket_, std::memory_order_release);
}

bool HostReleasedHold::expired() const {
  return std::atomic_ref<std::uint32_t>(words_->expired).load() == ticket_ && ticket_ != 0;
}

bool HostReleasedHold::left() const {
  return std::atomic_ref<std::uint32_t>(words_->left).load(std::memory_order_acquire) == ticket_;
}

}  // namespace kbench::cuda
