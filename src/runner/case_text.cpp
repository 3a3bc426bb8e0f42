// The case file's own limit and words. Does not know what a case looks like.
#include "runner/case_text.h"

#include <fmt/core.h>

#include "core/error.h"
#include "core/text.h"
#include "runner/bounded_file.h"

namespace kbench {

std::string read_case_text(const std::string& path, const std::function<bool()>& cancelled) {
  constexpr std::size_t k_most_bytes = std::size_t{64} << 20;
  try {
    return read_bounded(path, k_most_bytes, cancelled);
  } catch (const Unreadable& unreadable) {
    throw Error(ExitCode::case_file,
                fmt::format("{}:1:1: cannot read the case file ({}); check the path, name a file "
                            "of case lines",
                            to_one_line(path), unreadable.what()));
  }
}

}  // namespace kbench
