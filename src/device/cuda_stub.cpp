// Stands in for cuda/ in a build without a CUDA toolkit: says so and opens nothing.
#include <memory>
#include <string>

#include "device/device.h"

namespace kbench {
namespace {

constexpr const char* k_why = "kbench was built without CUDA";

}  // namespace

int cuda_device_count(std::string* why) {
  if (why != nullptr) *why = k_why;
  return 0;
}

std::unique_ptr<Device> open_cuda_device(int index) {
  throw Error(ExitCode::device, "cannot open CUDA device `" + std::to_string(index) + "` (" +
                                    k_why + "); install a CUDA toolkit and build again");
}

}  // namespace kbench
