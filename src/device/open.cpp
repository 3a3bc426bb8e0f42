// Chooses the device that was asked for. Never replaces a device that was named by another one;
// knows nothing of how a device works.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"

namespace kbench {
namespace {

std::unique_ptr<Device> open_named_cuda_device(int index) {
  std::string why;
  const int count = cuda_device_count(&why);
  if (count == 0) {
    throw Error(
        ExitCode::device,
        fmt::format("no usable CUDA device ({}); use `--device host`, or put that right", why));
  }
  if (index < 0 || index >= count) {
    throw Error(
        ExitCode::device,
        fmt::format("CUDA device `{}` does not exist (this machine shows {}); use `cuda:0`{}",
                    index, count, count > 1 ? fmt::format(" to `cuda:{}`", count - 1) : ""));
  }
  return open_cuda_device(index);
}

// A device that is listed by the driver but cannot be opened stays in the list, with the reason.
DeviceInfo describe_cuda_device(int index) {
  try {
    return open_cuda_device(index)->info();
  } catch (const Error& error) {
    DeviceInfo info;
    info.kind = DeviceKind::cuda;
    info.index = index;
    info.name = fmt::format("unusable: {}", error.what());
    return info;
  }
}

}  // namespace

std::unique_ptr<Device> open_device(const DeviceRequest& request, std::string* note) {
  switch (request.kind) {
    case DeviceRequest::Kind::host:
      return open_host_device();
    case DeviceRequest::Kind::cuda:
      return open_named_cuda_device(request.index);
    case DeviceRequest::Kind::automatic:
      break;
  }
  const int count = cuda_device_count(nullptr);
  if (count > 0) return open_cuda_device(request.index % count);
  if (note != nullptr) *note = "no CUDA device: host backend, CPU timings";
  return open_host_device();
}

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> devices;
  const int count = cuda_device_count(nullptr);
  for (int index = 0; index < count; ++index) devices.push_back(describe_cuda_device(index));
  devices.push_back(open_host_device()->info());
  return devices;
}

}  // namespace kbench
