// The words for the kinds of cache flush. Must not know how one is done.
#include "core/flush.h"

#include <fmt/format.h>

#include <array>

#include "core/error.h"
#include "core/text.h"

namespace kbench {
namespace {

constexpr std::array<std::string_view, 4> k_names{"public", "cold", "clean", "none"};

}  // namespace

std::string_view to_string(Flush flush) { return k_names[static_cast<std::size_t>(flush)]; }

Flush parse_flush(std::string_view text) {
  for (std::size_t i = 0; i < k_names.size(); ++i) {
    if (text == k_names[i]) return static_cast<Flush>(i);
  }
  const std::string_view meant = did_you_mean(text, k_names);
  throw Error(
      ExitCode::usage,
      fmt::format("unknown flush `{}` (known: public, cold, clean, none); {}",
                  to_one_line(shorten(text, 60)),
                  meant.empty() ? "name one of these" : fmt::format("did you mean `{}`?", meant)));
}

}  // namespace kbench
