// Loads NVML by dlopen and asks it. Its few prototypes are written out here, so that neither a
// header nor a driver is needed to build. Must not know what the answers are used for.
#include "device/nvml/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

namespace kbench::nvml {
namespace {

using Device = struct nvmlDevice_st*;

// From nvml.h; the values have not changed since its first release.
constexpr int k_success = 0;
constexpr int k_clock_sm = 1;         // NVML_CLOCK_SM
constexpr int k_temperature_gpu = 0;  // NVML_TEMPERATURE_GPU

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};
using Handle = std::unique_ptr<void, CloseLibrary>;

struct Calls {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*handle_by_uuid)(const char*, Device*) = nullptr;
  int (*clock_info)(Device, int, unsigned*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*power_usage)(Device, unsigned*) = nullptr;
  int (*throttle_reasons)(Device, unsigned long long*) = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

/// Name of the first call that is missing, or empty. The old name of the throttle reasons is the
/// one that every release has.
std::string find_calls(void* library, Calls& calls) {
  const auto missing = [&](const char* name, auto& function) {
    return !find(library, name, function);
  };
  if (missing("nvmlInit_v2", calls.init)) return "nvmlInit_v2";
  if (missing("nvmlShutdown", calls.shutdown)) return "nvmlShutdown";
  if (missing("nvmlErrorString", calls.error_string)) return "nvmlErrorString";
  if (missing("nvmlDeviceGetHandleByUUID", calls.handle_by_uuid)) {
    return "nvmlDeviceGetHandleByUUID";
  }
  // A release that lacks one of these leaves that figure out.
  find(library, "nvmlDeviceGetClockInfo", calls.clock_info);
  find(library, "nvmlDeviceGetTemperature", calls.temperature);
  find(library, "nvmlDeviceGetPowerUsage", calls.power_usage);
  if (!find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", calls.throttle_reasons)) {
    find(library, "nvmlDeviceGetCurrentClocksEventReasons", calls.throttle_reasons);
  }
  return "";
}

class LoadedGpu final : public Gpu {
 public:
  LoadedGpu(Handle library, const Calls& calls, Device device)
      : library_(std::move(library)), calls_(calls), device_(device) {}
  ~LoadedGpu() override { calls_.shutdown(); }
  LoadedGpu(const LoadedGpu&) = delete;
  LoadedGpu& operator=(const LoadedGpu&) = delete;

  ClockState read() override {
    ClockState state;
    unsigned value = 0;
    if (calls_.clock_info != nullptr &&
        calls_.clock_info(device_, k_clock_sm, &value) == k_success) {
      state.sm_mhz = value;
    }
    if (calls_.temperature != nullptr &&
        calls_.temperature(device_, k_temperature_gpu, &value) == k_success) {
      state.temperature_c = value;
    }
    if (calls_.power_usage != nullptr && calls_.power_usage(device_, &value) == k_success) {
      state.power_w = 1e-3 * value;  // milliwatts
    }
    unsigned long long reasons = 0;
    if (calls_.throttle_reasons != nullptr &&
        calls_.throttle_reasons(device_, &reasons) == k_success) {
      state.throttle_reasons = reasons;
    }
    return state;
  }

 private:
  Handle library_;
  Calls calls_;
  Device device_;
};

}  // namespace

std::unique_ptr<Gpu> open(const std::string& path, const std::string& uuid, std::string& why) {
  Handle library(dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL));
  if (library == nullptr) {
    why = fmt::format("no NVML (`{}` cannot be loaded)", path);
    return nullptr;
  }
  Calls calls;
  const std::string missing = find_calls(library.get(), calls);
  if (!missing.empty()) {
    why = fmt::format("no NVML (`{}` has no `{}`)", path, missing);
    return nullptr;
  }
  const auto refused = [&](const char* what, int code) {
    const char* text = calls.error_string(code);
    why = fmt::format("no NVML ({}: {})", what, text == nullptr ? "unknown error" : text);
  };
  if (const int code = calls.init(); code != k_success) {
    refused("nvmlInit_v2", code);
    return nullptr;
  }
  Device device = nullptr;
  if (const int code = calls.handle_by_uuid(uuid.c_str(), &device); code != k_success) {
    refused(fmt::format("nvmlDeviceGetHandleByUUID of `{}`", uuid).c_str(), code);
    calls.shutdown();
    return nullptr;
  }
  return std::make_unique<LoadedGpu>(std::move(library), calls, device);
}

}  // namespace kbench::nvml
