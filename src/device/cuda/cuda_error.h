// CUDA, cuBLAS and cuSOLVER statuses as DeviceError, in words.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>

#include <string>
#include <string_view>

namespace kbench::cuda {

/// True for errors after which every later call of this process fails: a lost context, or a stream
/// that is left in capture.
bool is_sticky(cudaError_t error) noexcept;

/// `cudaErrorIllegalAddress: an illegal memory access was encountered`.
std::string describe(cudaError_t error);

/// Why no CUDA device can be used, in words: no driver, stub driver, driver older than the runtime,
/// none visible. `driver` is the version that cudaDriverGetVersion tells, 0 when there is none.
std::string explain_no_device(cudaError_t error, int driver, int runtime,
                              const char* visible_devices);

/// 13000 -> `13.0`.
std::string version_text(int version);

/// Throws DeviceError naming `what` unless the status means success. The runtime's last error is
/// cleared, so that a failure is told once.
void check(cudaError_t status, std::string_view what);
void check(cublasStatus_t status, std::string_view what);
void check(cusolverStatus_t status, std::string_view what);

}  // namespace kbench::cuda
