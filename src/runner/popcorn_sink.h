// Writes result lines to the descriptor of the calling runner without ever blocking.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runner/fd.h"

namespace kbench {

/// A pipe is read only after this process has ended, so all lines must fit into it. The sink counts
/// what still fits, keeps back room for the verdict and holds lines that do not fit now.
class PopcornSink {
 public:
  explicit PopcornSink(Fd fd);

  /// Bytes that surely fit now beside the verdict; unlimited for files.
  std::size_t room() const;
  /// Writes the lines, or holds them until there is room.
  void write(std::string_view lines);
  /// Writes held lines and the verdict, waiting at most a second for a reader. Throws
  /// Error(popcorn_fd) when something could not be written.
  void finish(std::string_view verdict);

 private:
  std::size_t free_bytes() const;
  void drain();
  std::size_t held() const { return held_.size() - begin_; }
  /// How many of the bytes were written.
  std::size_t put(std::string_view bytes);
  bool writable(int timeout_ms) const;

  Fd fd_;
  bool is_pipe_ = false;
  std::size_t capacity_ = 0;
  std::string held_;  // from begin_ on
  std::size_t begin_ = 0;
  std::string failure_;  ///< first error of a write; nothing is written after it
};

}  // namespace kbench
