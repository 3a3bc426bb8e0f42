// Asks for the driver's version without linking its libraries. Knows nothing of devices.
#include "device/cuda/driver_version.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <array>
#include <cctype>
#include <fstream>
#include <memory>
#include <sstream>

#include "device/cuda/cuda_error.h"

namespace kbench::cuda {
namespace {

// Milliseconds cheaper than NVML, and the same number.
std::string from_kernel_module() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  return first_version(line);
}

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

std::string from_nvml() {
  const std::unique_ptr<void, CloseLibrary> library(
      dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL));
  if (library == nullptr) return {};
  const auto init = symbol<int (*)()>(library.get(), "nvmlInit_v2");
  const auto shutdown = symbol<int (*)()>(library.get(), "nvmlShutdown");
  const auto get = symbol<int (*)(char*, unsigned)>(library.get(), "nvmlSystemGetDriverVersion");
  if (init == nullptr || shutdown == nullptr || get == nullptr || init() != 0) return {};
  std::array<char, 96> text{};
  const bool told = get(text.data(), static_cast<unsigned>(text.size() - 1)) == 0;
  shutdown();
  return told ? std::string(text.data()) : std::string();
}

}  // namespace

std::string first_version(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::string word;
  while (words >> word) {
    const bool figures = word.find_first_not_of("0123456789.") == std::string::npos;
    const bool starts = std::isdigit(static_cast<unsigned char>(word.front())) != 0;
    if (figures && starts && word.find('.') != std::string::npos && word.back() != '.') return word;
  }
  return {};
}

std::string driver_version() {
  std::string version = from_kernel_module();
  if (version.empty()) version = from_nvml();
  if (version.empty()) {
    int driver = 0;
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    version = version_text(driver);
  }
  return version;
}

}  // namespace kbench::cuda
