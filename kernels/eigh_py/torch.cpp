// torch.linalg.eigh as a kernel of eigh_py, so that the ratio to torch is measured in the same run.
// Built only where Torch's CMake package is found.
//
// The out= form writes straight into kbench's arrays, since the output is declared column-major as
// torch lays eigenvectors out: no copy is charged that torch's own caller would not pay. torch
// reads the solver's info word on the host, so each call waits for the device.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>
#include <cstdio>
#include <exception>

#include "kbench_kernel.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  try {
    const c10::InferenceMode inference;
    const c10::DeviceIndex device = c10::cuda::current_device();
    const c10::cuda::CUDAStreamGuard guard(
        c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(call->stream), device));
    const at::TensorOptions options =
        at::TensorOptions().dtype(at::kFloat).device(at::kCUDA, device);
    const std::int64_t batch = call->inputs[0].size[0], n = call->inputs[0].size[1];
    const at::Tensor a = at::from_blob(call->inputs[0].data, {batch, n, n}, options);
    at::Tensor q = at::from_blob(call->outputs[0].data, {batch, n, n}, {n * n, 1, n}, options);
    at::Tensor l = at::from_blob(call->outputs[1].data, {batch, n}, options);
    at::linalg_eigh_out(l, q, a);
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(call->error, call->error_size, "%s", error.what());
    return 1;
  }
}

}  // namespace

extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {KBENCH_ABI_VERSION,
                                                                         "torch",
                                                                         "eigh_py",
                                                                         "torch.linalg.eigh",
                                                                         KBENCH_CUDA,
                                                                         KBENCH_COLUMN_MAJOR,
                                                                         KBENCH_SYNCHRONISES_HOST,
                                                                         nullptr,
                                                                         nullptr,
                                                                         nullptr,
                                                                         custom_kernel,
                                                                         nullptr,
                                                                         nullptr};
