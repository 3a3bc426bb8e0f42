// Loads a kernel plug-in and judges its descriptor. Knows the ABI and the dynamic loader; does not
// know devices, cases or what the kernel computes.
#include "worker/kernel_plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "core/error.h"
#include "core/text.h"
#include "worker/float_environment.h"

namespace kbench {
namespace {

constexpr const char* k_descriptor = "kbench_kernel_descriptor";
constexpr std::size_t k_max_text = 1000;

std::string plugin_text(const char* text) {
  return text == nullptr ? std::string() : shorten(to_valid_utf8(text), k_max_text);
}

void* open_library(const std::string& path) {
  const FloatEnvironment environment;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  environment.restore();
  if (library == nullptr) {
    throw Error(ExitCode::usage, fmt::format("cannot load kernel `{}` ({}); build it against "
                                             "kernels/kbench_kernel.h as a shared object",
                                             path, plugin_text(dlerror())));
  }
  return library;
}

void require(bool holds, const std::string& path, std::string_view what) {
  if (!holds) {
    throw Error(ExitCode::usage,
                fmt::format("kernel `{}` has a wrong descriptor ({}); see kernels/kbench_kernel.h",
                            path, what));
  }
}

bool has_text(const char* text) { return text != nullptr && *text != '\0'; }

}  // namespace

void check_descriptor(const kbench_kernel& kernel, const std::string& path) {
  if (kernel.abi_version != KBENCH_ABI_VERSION) {
    throw Error(ExitCode::usage,
                fmt::format("kernel `{}` has ABI version {} (this kbench has {}); rebuild it with "
                            "this kbench's kernels/kbench_kernel.h",
                            path, kernel.abi_version, KBENCH_ABI_VERSION));
  }
  require(has_text(kernel.name), path, "`name` is missing");
  require(has_text(kernel.problem), path, "`problem` is missing");
  require(kernel.custom_kernel != nullptr, path, "`custom_kernel` is missing");
  require(kernel.device == KBENCH_HOST || kernel.device == KBENCH_CUDA, path,
          fmt::format("`device` is {}, not KBENCH_HOST or KBENCH_CUDA", kernel.device));
  require(kernel.output_layout == KBENCH_ROW_MAJOR || kernel.output_layout == KBENCH_COLUMN_MAJOR,
          path,
          fmt::format("`output_layout` is {}, not KBENCH_ROW_MAJOR or KBENCH_COLUMN_MAJOR",
                      kernel.output_layout));
}

void check_match(const kbench_kernel& kernel, const std::string& problem, DeviceKind device) {
  if (problem != kernel.problem) {
    throw Error(ExitCode::usage,
                fmt::format("kernel `{}` solves `{}` (the case is of problem `{}`); name a kernel "
                            "of that problem, see `kbench list kernels`",
                            plugin_text(kernel.name), plugin_text(kernel.problem), problem));
  }
  if (device_kind(kernel) != device) {
    throw Error(ExitCode::usage,
                fmt::format("kernel `{}` runs on `{}` (the device is `{}`); use `--device {}` or "
                            "another kernel",
                            plugin_text(kernel.name), to_string(device_kind(kernel)),
                            to_string(device), to_string(device_kind(kernel))));
  }
}

KernelPlugin::KernelPlugin(const std::string& path)
    : path_(std::filesystem::absolute(path).string()) {
  void* library = open_library(path_);
  kernel_ = static_cast<const kbench_kernel*>(dlsym(library, k_descriptor));
  if (kernel_ == nullptr) {
    throw Error(ExitCode::usage,
                fmt::format("kernel `{}` exports no `{}` (not a kbench plug-in, or the symbol is "
                            "hidden or C++-mangled); define it with extern \"C\" KBENCH_EXPORT, or "
                            "write KBENCH_SIMPLE_KERNEL below custom_kernel",
                            path_, k_descriptor));
  }
  check_descriptor(*kernel_, path_);
}

KernelInfo describe(const kbench_kernel& kernel, const std::string& path) {
  return KernelInfo{plugin_text(kernel.name),
                    plugin_text(kernel.problem),
                    plugin_text(kernel.description),
                    path,
                    device_kind(kernel),
                    (kernel.flags & KBENCH_SYNCHRONISES_HOST) != 0};
}

DeviceKind device_kind(const kbench_kernel& kernel) {
  return kernel.device == KBENCH_CUDA ? DeviceKind::cuda : DeviceKind::host;
}

Layout output_layout(const kbench_kernel& kernel) {
  return kernel.output_layout == KBENCH_COLUMN_MAJOR ? Layout::column_major : Layout::row_major;
}

}  // namespace kbench
