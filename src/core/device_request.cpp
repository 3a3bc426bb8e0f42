// The words for devices on the command line and in results. Must not know which devices exist.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <system_error>

#include "core/error.h"
#include "core/message.h"
#include "core/text.h"

namespace kbench {

std::string_view to_string(DeviceKind kind) { return kind == DeviceKind::cuda ? "cuda" : "host"; }

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

}  // namespace kbench
