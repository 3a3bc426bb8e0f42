// A library that answers like NVML with the figures in its environment: FAKE_NVML_SM, _TEMPERATURE,
// _POWER and _REASONS. A figure that is not set is refused; FAKE_NVML_INIT is what init returns.
// Each init and shutdown is counted in FAKE_NVML_OPEN, which must be back at 0 at the end.
#include <cstdlib>
#include <cstring>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int k_not_supported = 3, k_not_found = 6;

template <class Value>
int answer(const char* name, Value* value) {
  const char* text = std::getenv(name);
  if (text == nullptr) return k_not_supported;
  *value = static_cast<Value>(std::strtoull(text, nullptr, 0));
  return 0;
}

void count(int step) {
  const char* text = std::getenv("FAKE_NVML_OPEN");
  const int open = text == nullptr ? 0 : std::atoi(text);
  setenv("FAKE_NVML_OPEN", std::to_string(open + step).c_str(), 1);
}

}  // namespace

EXPORT int nvmlInit_v2() {
  int code = 0;
  answer("FAKE_NVML_INIT", &code);
  if (code == 0) count(1);
  return code;
}
EXPORT int nvmlShutdown() {
  count(-1);
  return 0;
}
EXPORT const char* nvmlErrorString(int code) {
  return code == k_not_found ? "Not Found" : "Driver Not Loaded";
}
EXPORT int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  *device = nullptr;
  return std::strcmp(uuid, "GPU-fake") == 0 ? 0 : k_not_found;
}
EXPORT int nvmlDeviceGetClockInfo(void*, int clock, unsigned* value) {
  return clock == 1 ? answer("FAKE_NVML_SM", value) : k_not_supported;
}
EXPORT int nvmlDeviceGetTemperature(void*, int sensor, unsigned* value) {
  return sensor == 0 ? answer("FAKE_NVML_TEMPERATURE", value) : k_not_supported;
}
EXPORT int nvmlDeviceGetPowerUsage(void*, unsigned* value) {
  return answer("FAKE_NVML_POWER", value);
}
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* value) {
  return answer("FAKE_NVML_REASONS", value);
}
