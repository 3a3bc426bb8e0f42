// The parts of the CUDA device that need no GPU: words for errors, names, sizes.
#include <string>

#include "catch.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_error.h"
#include "device/cuda/driver_version.h"
#include "device/device.h"

using namespace kbench::cuda;

TEST_CASE("errors that lose the context are sticky, a refused launch is not") {
  for (const cudaError_t error :
       {cudaErrorIllegalAddress, cudaErrorLaunchFailure, cudaErrorAssert, cudaErrorLaunchTimeout,
        cudaErrorMisalignedAddress, cudaErrorHardwareStackError, cudaErrorECCUncorrectable,
        cudaErrorIllegalInstruction, cudaErrorUnknown, cudaErrorStreamCaptureInvalidated}) {
    CAPTURE(static_cast<int>(error));
    CHECK(is_sticky(error));
  }
  for (const cudaError_t error :
       {cudaSuccess, cudaErrorInvalidConfiguration, cudaErrorMemoryAllocation,
        cudaErrorInvalidValue, cudaErrorLaunchOutOfResources, cudaErrorNoKernelImageForDevice,
        cudaErrorNotSupported}) {
    CAPTURE(static_cast<int>(error));
    CHECK_FALSE(is_sticky(error));
  }
}

TEST_CASE("a CUDA failure names what failed, the error, its text and what to do") {
  try {
    check(cudaErrorIllegalAddress, "waiting for the device");
    FAIL("no exception");
  } catch (const kbench::DeviceError& error) {
    CHECK(error.sticky());
    CHECK(error.code() == kbench::ExitCode::device);
    CHECK(std::string(error.what()) ==
          "waiting for the device failed (cudaErrorIllegalAddress: an illegal memory access was "
          "encountered); run the kernel under `compute-sanitizer` to find the place");
  }
  try {
    check(cudaErrorInvalidConfiguration, "a launch");
    FAIL("no exception");
  } catch (const kbench::DeviceError& error) {
    CHECK_FALSE(error.sticky());
    CHECK_THAT(error.what(), ContainsSubstring("check grid, block, cluster and shared memory"));
  }
  CHECK_NOTHROW(check(cudaSuccess, "nothing"));
}

TEST_CASE("each reason for having no CUDA device has its own words") {
  struct Row {
    cudaError_t error;
    int driver;
    const char* visible;
    const char* words;
  };
  const Row rows[] = {
      {cudaErrorInsufficientDriver, 0, nullptr, "no CUDA driver is installed"},
      {cudaErrorInsufficientDriver, 12040, nullptr,
       "the CUDA driver (12.4) is older than the runtime (13.0)"},
      {cudaErrorStubLibrary, 0, nullptr, "libcuda.so.1 is the toolkit's stub, not a driver"},
      {cudaErrorNoDevice, 13000, nullptr, "the CUDA driver sees no device"},
      {cudaErrorNoDevice, 13000, "", "no CUDA device is visible with CUDA_VISIBLE_DEVICES=``"},
      {cudaSuccess, 13000, "7", "no CUDA device is visible with CUDA_VISIBLE_DEVICES=`7`"},
      {cudaErrorUnknown, 13000, nullptr,
       "the CUDA driver answered cudaErrorUnknown: unknown error"},
  };
  for (const Row& row : rows) {
    CAPTURE(static_cast<int>(row.error), row.driver);
    CHECK(explain_no_device(row.error, row.driver, 13000, row.visible) == row.words);
  }
}

TEST_CASE("the driver's version is found in the kernel module's line") {
  CHECK(first_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  "
                      "Release Build  (dvs-builder@U16)") == "580.159.04");
  CHECK(first_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54  Thu") == "535.54");
  CHECK(first_version("no version 12 here. 5.") == "");
  CHECK(first_version("") == "");
}

TEST_CASE("a UUID is written as the vendor's tools write it") {
  CHECK(uuid_text({0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89,
                   0xab, 0xcd, 0xef}) == "GPU-01234567-89ab-cdef-0123-456789abcdef");
}

TEST_CASE("the flush covers twice the L2 and leaves small memories room") {
  constexpr std::int64_t k_mib = std::int64_t{1} << 20;
  struct Row {
    std::int64_t cache, free, flush;
  };
  const Row rows[] = {
      {60 * k_mib, 140000 * k_mib, 256 * k_mib},   // H200: the usual size
      {200 * k_mib, 140000 * k_mib, 400 * k_mib},  // twice a large L2
      {4 * k_mib, 400 * k_mib, 100 * k_mib},       // a quarter of what is free
      {60 * k_mib, 400 * k_mib, 120 * k_mib},      // never below twice the L2
  };
  for (const Row& row : rows) {
    CAPTURE(row.cache, row.free);
    CHECK(flush_size(row.cache, row.free) == row.flush);
  }
}
