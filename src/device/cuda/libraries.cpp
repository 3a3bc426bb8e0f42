// Makes and releases library handles. Knows nothing of the matrices they work on.
#include "device/cuda/libraries.h"

#include <fmt/format.h>

#include "device/cuda/cuda_error.h"

namespace kbench::cuda {
namespace {

template <class Status>
std::string library_version(Status (*get)(libraryPropertyType, int*)) {
  int major = 0, minor = 0, patch = 0;
  check(get(MAJOR_VERSION, &major), "reading a library version");
  check(get(MINOR_VERSION, &minor), "reading a library version");
  check(get(PATCH_LEVEL, &patch), "reading a library version");
  return fmt::format("{}.{}.{}", major, minor, patch);
}

}  // namespace

Libraries::~Libraries() {
  for (SolverLane& lane : lanes_) {
    if (lane.handle != nullptr) cusolverDnDestroy(lane.handle);
    if (lane.done != nullptr) cudaEventDestroy(lane.done);
    if (lane.stream != nullptr) cudaStreamDestroy(lane.stream);
  }
  if (params_ != nullptr) cusolverDnDestroyParams(params_);
  if (cublas_ != nullptr) cublasDestroy(cublas_);
  if (forked_ != nullptr) cudaEventDestroy(forked_);
}

cublasHandle_t Libraries::cublas() {
  if (cublas_ == nullptr) {
    check(cublasCreate(&cublas_), "cublasCreate");
    check(cublasSetStream(cublas_, stream_), "cublasSetStream");
    check(cublasSetMathMode(cublas_, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
  }
  return cublas_;
}

cusolverDnParams_t Libraries::solver_params() {
  if (params_ == nullptr) check(cusolverDnCreateParams(&params_), "cusolverDnCreateParams");
  return params_;
}

std::vector<SolverLane>& Libraries::lanes(std::size_t count) {
  while (lanes_.size() < count) {
    SolverLane& lane = lanes_.emplace_back();
    check(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaEventCreateWithFlags(&lane.done, cudaEventDisableTiming), "cudaEventCreate");
    check(cusolverDnCreate(&lane.handle), "cusolverDnCreate");
    check(cusolverDnSetStream(lane.handle, lane.stream), "cusolverDnSetStream");
  }
  return lanes_;
}

void Libraries::fork(std::size_t count) {
  if (forked_ == nullptr) {
    check(cudaEventCreateWithFlags(&forked_, cudaEventDisableTiming), "cudaEventCreate");
  }
  check(cudaEventRecord(forked_, stream_), "cudaEventRecord");
  for (std::size_t k = 0; k < count; ++k) {
    check(cudaStreamWaitEvent(lanes_[k].stream, forked_, 0), "cudaStreamWaitEvent");
  }
}

void Libraries::join(std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    check(cudaEventRecord(lanes_[k].done, lanes_[k].stream), "cudaEventRecord");
    check(cudaStreamWaitEvent(stream_, lanes_[k].done, 0), "cudaStreamWaitEvent");
  }
}

std::vector<std::pair<std::string, std::string>> Libraries::versions() {
  return {{"cublas", library_version(&cublasGetProperty)},
          {"cusolver", library_version(&cusolverGetProperty)}};
}

}  // namespace kbench::cuda
