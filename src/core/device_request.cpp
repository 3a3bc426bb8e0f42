// The words for devices on the command line and in results. Must not know which devices exist.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "core/error.h"
#include "core/message.h"
#include "core/text.h"

namespace kbench {

std::string_view to_string(DeviceKind kind) { return kind == DeviceKind::cuda ? "cuda" : "host"; }

std::string device_label(DeviceKind kind, int index) {
  return kind == DeviceKind::cuda ? fmt::format("cuda:{}", index) : "host";
}

DeviceRequest parse_device(std::string_view text) {
  using Kind = DeviceRequest::Kind;
  if (text == "auto") return {Kind::automatic, 0};
  if (text == "host") return {Kind::host, 0};
  if (text == "cuda") return {Kind::cuda, 0};
  constexpr std::string_view k_prefix = "cuda:";
  if (text.substr(0, k_prefix.size()) == k_prefix) {
    const std::string_view digits = text.substr(k_prefix.size());
    const char* end = digits.data() + digits.size();
    int index = 0;
    const auto parsed = std::from_chars(digits.data(), end, index);
    if (parsed.ec == std::errc() && parsed.ptr == end && index >= 0) return {Kind::cuda, index};
  }
  constexpr std::array<std::string_view, 3> k_names{"auto", "host", "cuda"};
  const std::string_view meant = did_you_mean(text, k_names);
  throw Error(
      ExitCode::usage,
      fmt::format("unknown device `{}` (known: auto, cuda, cuda:N, host); {}",
                  to_one_line(shorten(text, 60)),
                  meant.empty() ? "name one of these" : fmt::format("did you mean `{}`?", meant)));
}

std::vector<DeviceRequest> parse_device_list(std::string_view text) {
  std::vector<DeviceRequest> devices;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string part(text.substr(at, comma - at));
    at = comma + 1;
    const bool number = part.find_first_not_of("0123456789") == std::string::npos;
    DeviceRequest device = parse_device(number ? "cuda:" + part : part);
    for (const DeviceRequest& other : devices) {
      const bool host = device.kind == DeviceRequest::Kind::host;
      if (other.kind != device.kind || (!host && other.index == device.index)) {
        throw Error(
            ExitCode::usage,
            fmt::format("device `{}` cannot stand beside the others (a CUDA device twice, or "
                        "two kinds in one list); name others",
                        to_one_line(part)));
      }
    }
    if (device.kind == DeviceRequest::Kind::automatic) {
      throw Error(ExitCode::usage, "`auto` names no device of a list; give numbers or `host`");
    }
    if (device.kind == DeviceRequest::Kind::host) device.index = static_cast<int>(devices.size());
    devices.push_back(device);
  }
  return devices;
}

}  // namespace kbench
