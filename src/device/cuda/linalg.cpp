// QR factorisation and batched products by the vendor libraries. Chooses the library call and feeds
// it; the choice for geqrf follows torch, so that generated inputs come as close as they can.
#include <algorithm>

#include "device/cuda/cuda_error.h"
#include "device/cuda/cuda_ops.h"
#include "device/cuda/launches.h"

namespace kbench::cuda {
namespace {

// Vendor batch counts are 32-bit and end on a grid dimension.
constexpr std::int64_t k_most_in_one_call = 32768;
// On an H200, 640 x 512: 142 ms on 16 streams, 1000 ms on one; the launches of one matrix's panels
// leave most of the device idle.
constexpr std::int64_t k_lanes = 16;
constexpr std::int64_t k_alignment = 256;

std::int64_t round_up(std::int64_t bytes) {
  return (bytes + k_alignment - 1) / k_alignment * k_alignment;
}

cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int n,
                    const float* a, const float* b, float* c, int batch) {
  const float one = 1, zero = 0;
  const long long stride = static_cast<long long>(n) * n;
  return cublasSgemmStridedBatched(handle, ta, tb, n, n, n, &one, a, n, stride, b, n, stride, &zero,
                                   c, n, stride, batch);
}

cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int n,
                    const double* a, const double* b, double* c, int batch) {
  const double one = 1, zero = 0;
  const long long stride = static_cast<long long>(n) * n;
  return cublasDgemmStridedBatched(handle, ta, tb, n, n, n, &one, a, n, stride, b, n, stride, &zero,
                                   c, n, stride, batch);
}

cublasOperation_t operation(Transpose transpose) {
  return transpose == Transpose::yes ? CUBLAS_OP_T : CUBLAS_OP_N;
}

// A row-major C = op(A) op(B) is the column-major C^T = op(B)^T op(A)^T at the same addresses, so
// the operands change places and keep their operations.
template <class T>
void multiply_rows(Libraries& libraries, const T* a, Transpose ta, const T* b, Transpose tb,
                   std::int64_t batch, std::int64_t n, T* c) {
  if (n <= 0) return;
  for (std::int64_t done = 0; done < batch; done += k_most_in_one_call) {
    const std::int64_t count = std::min(k_most_in_one_call, batch - done), at = done * n * n;
    check(gemm(libraries.cublas(), operation(tb), operation(ta), static_cast<int>(n), b + at,
               a + at, c + at, static_cast<int>(count)),
          "multiply");
  }
}

}  // namespace

void CudaOps::multiply(const float* a, Transpose ta, const float* b, Transpose tb,
                       std::int64_t batch, std::int64_t n, float* c) {
  multiply_rows(libraries_, a, ta, b, tb, batch, n, c);
}

void CudaOps::multiply(const double* a, Transpose ta, const double* b, Transpose tb,
                       std::int64_t batch, std::int64_t n, double* c) {
  multiply_rows(libraries_, a, ta, b, tb, batch, n, c);
}

void CudaOps::geqrf(float* a, std::int64_t batch, std::int64_t n, float* tau) {
  if (batch <= 0 || n <= 0) return;
  if (n <= 256 && batch >= std::max<std::int64_t>(2, n / 16)) {
    geqrf_batched(a, batch, n, tau);
  } else {
    geqrf_on_lanes(a, batch, n, tau);
  }
}

void CudaOps::geqrf_batched(float* a, std::int64_t batch, std::int64_t n, float* tau) {
  float** pointers = arena_.take<float*>(Slot::matrix_pointers, 2 * batch);
  float** tau_pointers = pointers + batch;
  check(launch_pointers(stream_, a, n * n, batch, pointers), "geqrf: pointers");
  check(launch_pointers(stream_, tau, n, batch, tau_pointers), "geqrf: pointers");
  for (std::int64_t done = 0; done < batch; done += k_most_in_one_call) {
    const std::int64_t count = std::min(k_most_in_one_call, batch - done);
    int info = 0;
    check(cublasSgeqrfBatched(libraries_.cublas(), static_cast<int>(n), static_cast<int>(n),
                              pointers + done, static_cast<int>(n), tau_pointers + done, &info,
                              static_cast<int>(count)),
          "cublasSgeqrfBatched");
    KBENCH_ASSERT(info == 0);
  }
}

void CudaOps::geqrf_on_lanes(float* a, std::int64_t batch, std::int64_t n, float* tau) {
  const std::size_t count = static_cast<std::size_t>(std::min(k_lanes, batch));
  std::vector<SolverLane>& lanes = libraries_.lanes(count);
  cusolverDnParams_t params = libraries_.solver_params();
  std::size_t on_device = 0, on_host = 0;
  check(cusolverDnXgeqrf_bufferSize(lanes[0].handle, params, n, n, CUDA_R_32F, a, n, CUDA_R_32F,
                                    tau, CUDA_R_32F, &on_device, &on_host),
        "cusolverDnXgeqrf_bufferSize");
  const std::int64_t stride = round_up(static_cast<std::int64_t>(on_device));
  const std::int64_t lane_count = static_cast<std::int64_t>(count);
  std::byte* workspace = arena_.take<std::byte>(Slot::solver_workspace, lane_count * stride);
  int* info = arena_.take<int>(Slot::solver_info, lane_count);
  libraries_.fork(count);
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t k = b % lane_count;
    SolverLane& lane = lanes[static_cast<std::size_t>(k)];
    if (lane.host_workspace.size() < on_host) lane.host_workspace.resize(on_host);
    check(cusolverDnXgeqrf(lane.handle, params, n, n, CUDA_R_32F, a + b * n * n, n, CUDA_R_32F,
                           tau + b * n, CUDA_R_32F, workspace + k * stride, on_device,
                           lane.host_workspace.data(), on_host, info + k),
          "cusolverDnXgeqrf");
  }
  libraries_.join(count);
}

}  // namespace kbench::cuda
