// The text of a case file.
#pragma once

#include <functional>
#include <string>

namespace kbench {

/// Reads `path`, at most 64 MiB: a regular file, or a pipe that this process was given, named as
/// `/dev/stdin` or `/dev/fd/N`. Waits for such a pipe until `cancelled`, which may be empty. Throws
/// Error(case_file).
std::string read_case_text(const std::string& path, const std::function<bool()>& cancelled);

}  // namespace kbench
