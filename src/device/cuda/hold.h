// The hold of the CUDA device: a kernel that waits for a word in the host's memory.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>

#include "device/cuda/launches.h"
#include "device/device.h"

namespace kbench::cuda {

class HostReleasedHold final : public Hold {
 public:
  /// Loads the kernel and tries it once, so that nothing is loaded while it holds. `lost` says that
  /// the context is gone and nothing may be given back. Throws DeviceError.
  HostReleasedHold(cudaStream_t stream, const bool& lost);
  ~HostReleasedHold() override;
  HostReleasedHold(const HostReleasedHold&) = delete;
  HostReleasedHold& operator=(const HostReleasedHold&) = delete;

  void place(double limit_s) override;
  void release() noexcept override;
  bool expired() const override;
  bool left() const override;

 private:
  cudaStream_t stream_;
  const bool& lost_;
  HoldWords* words_ = nullptr;
  HoldWords* device_words_ = nullptr;      // the same, as the device sees it
  std::atomic<std::uint32_t> ticket_ = 0;  // read by the thread that releases
};

}  // namespace kbench::cuda
