// Parses the verbose lines of ptxas, those of CUDA 11 to 13. Pure text; starts no compiler.
#include "runner/ptxas.h"

#include <cxxabi.h>

#include <charconv>
#include <cstdlib>
#include <memory>

namespace kbench {
namespace {

constexpr std::string_view k_info = "ptxas info";
constexpr std::string_view k_entry = "Compiling entry function '";
constexpr std::string_view k_properties = "Function properties for ";

std::string demangle(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? std::string(text.get()) : name;
}

/// Calls visit(line) for each line, without its line end.
template <class Visit>
void each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    visit(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

/// What stands behind `ptxas info    : `, or nothing.
std::string_view info_of(std::string_view line) {
  if (!line.starts_with(k_info)) return {};
  const std::size_t colon = line.find(": ");
  return colon == std::string_view::npos ? std::string_view() : line.substr(colon + 2);
}

/// The number in front of ` what`, in a list such as `0 bytes stack frame, 8 bytes spill stores`;
/// 0 when it is not in the list, as ptxas leaves zeros out.
std::int64_t number_before(std::string_view line, std::string_view what) {
  const std::size_t at = line.find(what);
  if (at == std::string_view::npos || at < 2) return 0;
  const std::size_t end = at - 1;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  std::int64_t value = 0;
  std::from_chars(line.data() + begin, line.data() + end, value);
  return value;
}

bool is_property_line(std::string_view line) {
  return line.starts_with("    ") && line.find("bytes stack frame") != std::string_view::npos;
}

bool is_resource_line(std::string_view line) {
  const std::string_view info = info_of(line);
  if (info.empty()) return is_property_line(line);
  for (std::string_view start :
       {k_entry, k_properties, std::string_view("Used "), std::string_view("Compile time = ")}) {
    if (info.starts_with(start)) return true;
  }
  return info.find(" bytes gmem") != std::string_view::npos;
}

KernelResources entry(std::string_view info) {
  KernelResources kernel;
  info.remove_prefix(k_entry.size());
  kernel.mangled = info.substr(0, info.find('\''));
  kernel.name = demangle(kernel.mangled);
  const std::size_t target = info.find("for '");
  if (target != std::string_view::npos) {
    const std::string_view rest = info.substr(target + 5);
    kernel.architecture = rest.substr(0, rest.find('\''));
  }
  return kernel;
}

}  // namespace

std::vector<KernelResources> parse_ptxas(std::string_view text) {
  std::vector<KernelResources> kernels;
  std::string_view described;  // the function of the properties that follow
  each_line(text, [&](std::string_view line) {
    const std::string_view info = info_of(line);
    if (info.starts_with(k_entry)) {
      kernels.push_back(entry(info));
    } else if (info.starts_with(k_properties)) {
      described = info.substr(k_properties.size());
    } else if (!kernels.empty() && is_property_line(line) && described == kernels.back().mangled) {
      KernelResources& kernel = kernels.back();
      kernel.stack_bytes = number_before(line, "bytes stack frame");
      kernel.spill_store_bytes = number_before(line, "bytes spill stores");
      kernel.spill_load_bytes = number_before(line, "bytes spill loads");
    } else if (!kernels.empty() && info.starts_with("Used ")) {
      kernels.back().registers = number_before(info, "registers");
      kernels.back().shared_bytes = number_before(info, "bytes smem");
    }
  });
  return kernels;
}

std::string without_resource_lines(std::string_view text) {
  std::string kept;
  each_line(text, [&](std::string_view line) {
    if (!is_resource_line(line)) kept.append(line).push_back('\n');
  });
  return kept;
}

}  // namespace kbench
