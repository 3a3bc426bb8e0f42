// cuBLAS and cuSOLVER handles of one device, each made on first use.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusolverDn.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace kbench::cuda {

/// A stream of its own with a cuSOLVER handle: factorisations of different matrices run at once.
struct SolverLane {
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
  cusolverDnHandle_t handle = nullptr;
  std::vector<std::byte> host_workspace;
};

/// Owns the handles. Nothing is made before it is asked for: a run that only serves a plug-in does
/// not pay for libraries.
class Libraries {
 public:
  explicit Libraries(cudaStream_t stream) : stream_(stream) {}
  ~Libraries();
  Libraries(const Libraries&) = delete;
  Libraries& operator=(const Libraries&) = delete;

  /// Bound to the device's stream, FP32 without TF32.
  cublasHandle_t cublas();
  cusolverDnParams_t solver_params();
  /// The first `count` lanes.
  std::vector<SolverLane>& lanes(std::size_t count);
  /// Lets the first `count` lanes start after all earlier work of the stream.
  void fork(std::size_t count);
  /// Lets later work of the stream wait for the first `count` lanes.
  void join(std::size_t count);

  /// Versions, without making a handle.
  static std::vector<std::pair<std::string, std::string>> versions();

 private:
  cudaStream_t stream_;
  cudaEvent_t forked_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
  cusolverDnParams_t params_ = nullptr;
  std::vector<SolverLane> lanes_;
};

}  // namespace kbench::cuda
