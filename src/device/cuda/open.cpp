// Finds and opens CUDA devices. With no usable device it says why in words and opens nothing; the
// choice between devices is made elsewhere.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_error.h"
#include "device/device.h"

namespace kbench {

int cuda_device_count(std::string* why) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (status == cudaSuccess && count > 0) return count;
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  cudaGetLastError();
  if (why != nullptr) {
    *why = cuda::explain_no_device(status, driver, runtime, std::getenv("CUDA_VISIBLE_DEVICES"));
  }
  return 0;
}

std::unique_ptr<Device> open_cuda_device(int index) {
  return std::make_unique<cuda::CudaDevice>(index);
}

}  // namespace kbench
