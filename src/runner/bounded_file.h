// Files that a user names, read whole without ever hanging at one.
#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>

namespace kbench {

/// Why a file was not read, as the words between the brackets of a message.
struct Unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The bytes of a regular file, or of a pipe of the caller's own (`/dev/stdin`, `/dev/fd/N`).
/// Throws Unreadable for anything else, beyond `most_bytes`, and once `cancelled`, which may be
/// empty, answers true.
std::string read_bounded(const std::string& path, std::size_t most_bytes,
                         const std::function<bool()>& cancelled);

}  // namespace kbench
