// C = A B by cuBLAS in FP32, on the integers m, n and k of the case line: an example of a kernel
// that makes its own data. A and B hold small random numbers, since a product of zeros draws less
// power and so runs at a higher clock.
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>

#include "kbench_kernel.h"

namespace {

struct Gemm {
  std::int64_t m = 0, n = 0, k = 0;
  float *a = nullptr, *b = nullptr, *c = nullptr;
  cublasHandle_t handle = nullptr;
};

__global__ void fill(float* data, std::int64_t count, std::uint32_t seed) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    std::uint32_t x = static_cast<std::uint32_t>(i) * 2654435761u + seed;
    x = (x ^ (x >> 15)) * 2246822519u;
    data[i] = static_cast<float>(x >> 8) * 0x1p-24f - 0.5f;
  }
}

int refuse(const kbench_call* call, const char* what, const char* why) {
  std::snprintf(call->error, call->error_size, "%s (%s)", what, why);
  return 1;
}

bool allocate(float** data, std::int64_t rows, std::int64_t columns) {
  return cudaMalloc(data, sizeof(float) * static_cast<std::size_t>(rows * columns)) == cudaSuccess;
}

void destroy(void* state) {
  Gemm* gemm = static_cast<Gemm*>(state);
  if (gemm->handle != nullptr) cublasDestroy(gemm->handle);
  cudaFree(gemm->a);
  cudaFree(gemm->b);
  cudaFree(gemm->c);
  delete gemm;
}

int make(const kbench_call* call, Gemm* gemm) {
  gemm->m = kbench_parameter_or(call, "m", 0);
  gemm->n = kbench_parameter_or(call, "n", 0);
  gemm->k = kbench_parameter_or(call, "k", 0);
  constexpr std::int64_t most = 1 << 20;
  for (const std::int64_t size : {gemm->m, gemm->n, gemm->k}) {
    if (size < 1 || size > most) return refuse(call, "sizes m, n, k", "1 to 1048576 are needed");
  }
  if (!allocate(&gemm->a, gemm->m, gemm->k) || !allocate(&gemm->b, gemm->k, gemm->n) ||
      !allocate(&gemm->c, gemm->m, gemm->n)) {
    return refuse(call, "allocating A, B and C", cudaGetErrorString(cudaGetLastError()));
  }
  const cudaStream_t stream = static_cast<cudaStream_t>(call->stream);
  fill<<<1024, 256, 0, stream>>>(gemm->a, gemm->m * gemm->k, 1u);
  fill<<<1024, 256, 0, stream>>>(gemm->b, gemm->k * gemm->n, 2u);
  cublasStatus_t status = cublasCreate(&gemm->handle);
  if (status == CUBLAS_STATUS_SUCCESS) status = cublasSetStream(gemm->handle, stream);
  if (status != CUBLAS_STATUS_SUCCESS) {
    return refuse(call, "cublasCreate", cublasGetStatusString(status));
  }
  const double m = static_cast<double>(gemm->m), n = static_cast<double>(gemm->n),
               k = static_cast<double>(gemm->k);
  call->work->flops = 2 * m * n * k;
  call->work->bytes = 4 * (m * k + k * n + m * n);
  return 0;
}

int create(const kbench_call* call, void** state) {
  Gemm* gemm = new Gemm;
  const int failed = make(call, gemm);
  if (failed != 0) {
    destroy(gemm);
    return failed;
  }
  *state = gemm;
  return 0;
}

int custom_kernel(void* state, const kbench_call* call) {
  const Gemm& gemm = *static_cast<const Gemm*>(state);
  const float one = 1, zero = 0;
  const cublasStatus_t status =
      cublasSgemm_64(gemm.handle, CUBLAS_OP_N, CUBLAS_OP_N, gemm.m, gemm.n, gemm.k, &one, gemm.a,
                     gemm.m, gemm.b, gemm.k, &zero, gemm.c, gemm.m);
  if (status != CUBLAS_STATUS_SUCCESS) {
    return refuse(call, "cublasSgemm", cublasGetStatusString(status));
  }
  return 0;
}

}  // namespace

extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {
    KBENCH_ABI_VERSION,
    "gemm",
    "free",
    "C = A B by cuBLAS in FP32; m, n, k of the case line",
    KBENCH_CUDA,
    KBENCH_COLUMN_MAJOR,
    0,
    create,
    nullptr,  // workspace_bytes: none is needed
    nullptr,  // prepare: the arrays are the plug-in's own
    custom_kernel,
    nullptr,  // report: there is nothing to say
    destroy};
