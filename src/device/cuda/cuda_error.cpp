// Turns statuses of the CUDA libraries into DeviceError. Knows which errors lose the context and
// what to advise; knows no device and no operation.
#include "device/cuda/cuda_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "device/device.h"

namespace kbench::cuda {
namespace {

// By number where older toolkits lack the name.
constexpr auto k_contained = static_cast<cudaError_t>(226);
constexpr auto k_tensor_memory_leak = static_cast<cudaError_t>(721);
constexpr auto k_external_device = static_cast<cudaError_t>(911);

constexpr std::array k_context_lost = {
    cudaErrorCudartUnloading,
    cudaErrorECCUncorrectable,
    cudaErrorNvlinkUncorrectable,
    cudaErrorIllegalAddress,
    cudaErrorLaunchTimeout,
    cudaErrorContextIsDestroyed,
    cudaErrorAssert,
    cudaErrorHardwareStackError,
    cudaErrorIllegalInstruction,
    cudaErrorMisalignedAddress,
    cudaErrorInvalidAddressSpace,
    cudaErrorInvalidPc,
    cudaErrorLaunchFailure,
    cudaErrorMpsConnectionFailed,
    cudaErrorMpsClientTerminated,
    cudaErrorUnknown,
    k_contained,
    k_tensor_memory_leak,
    k_external_device,
};

std::string_view advice(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return "use a smaller batch, or free the device";
    case cudaErrorInvalidConfiguration:
    case cudaErrorLaunchOutOfResources:
    case cudaErrorCooperativeLaunchTooLarge:
    case cudaErrorInvalidClusterSize:
      return "check grid, block, cluster and shared memory sizes of the launch";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion:
      return "build for this GPU: -DCMAKE_CUDA_ARCHITECTURES=<its capability without the dot>";
    default:
      return is_sticky(error) ? "run the kernel under `compute-sanitizer` to find the place"
                              : "check the device with `nvidia-smi`";
  }
}

// A library's status hides what the runtime knows: ask whether the context still lives.
[[noreturn]] void fail_library(std::string_view what, const std::string& status) {
  const cudaError_t now = cudaDeviceSynchronize();
  cudaGetLastError();
  const std::string runtime = now == cudaSuccess ? "" : ", " + describe(now);
  throw DeviceError(fmt::format("{} failed ({}{}); {}", what, status, runtime, advice(now)),
                    is_sticky(now));
}

}  // namespace

bool is_sticky(cudaError_t error) noexcept {
  if (std::ranges::find(k_context_lost, error) != k_context_lost.end()) return true;
  return error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorStreamCaptureWrongThread;
}

std::string describe(cudaError_t error) {
  return fmt::format("{}: {}", cudaGetErrorName(error), cudaGetErrorString(error));
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string explain_no_device(cudaError_t error, int driver, int runtime,
                              const char* visible_devices) {
  switch (error) {
    case cudaErrorInsufficientDriver:
      if (driver == 0) return "no CUDA driver is installed";
      return fmt::format("the CUDA driver ({}) is older than the runtime ({})",
                         version_text(driver), version_text(runtime));
    case cudaErrorStubLibrary:
      return "libcuda.so.1 is the toolkit's stub, not a driver";
    case cudaSuccess:
    case cudaErrorNoDevice:
      if (visible_devices != nullptr) {
        return fmt::format("no CUDA device is visible with CUDA_VISIBLE_DEVICES=`{}`",
                           visible_devices);
      }
      return "the CUDA driver sees no device";
    case cudaErrorSystemDriverMismatch:
      return "the CUDA driver and the kernel module have different versions";
    case cudaErrorCompatNotSupportedOnDevice:
      return "the CUDA compatibility driver does not support this device";
    case cudaErrorSystemNotReady:
      return "the system is not ready for CUDA: a service of the driver, such as the fabric "
             "manager, is not running";
    default:
      return "the CUDA driver answered " + describe(error);
  }
}

void check(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw DeviceError(fmt::format("{} failed ({}); {}", what, describe(status), advice(status)),
                    is_sticky(status));
}

void check(cublasStatus_t status, std::string_view what) {
  if (status != CUBLAS_STATUS_SUCCESS) fail_library(what, cublasGetStatusName(status));
}

void check(cusolverStatus_t status, std::string_view what) {
  if (status == CUSOLVER_STATUS_SUCCESS) return;
  fail_library(what, fmt::format("cusolver status {}", static_cast<int>(status)));
}

}  // namespace kbench::cuda
