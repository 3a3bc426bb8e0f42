// One stream that people read, written without ever waiting for the reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runner/fd.h"

namespace kbench {

/// Writes at once what the descriptor takes and holds the rest, up to `k_room` bytes. Beyond that
/// whole lines are left out, and a line in their place says how many. A reader that is gone is no
/// error.
class Outlet {
 public:
  static constexpr std::size_t k_room = std::size_t{16} << 20;

  /// `fd` stays the caller's and keeps its flags: they are shared with other processes.
  explicit Outlet(int fd);

  void put(std::string_view bytes);
  /// Writes as much of what is held as the descriptor takes now. True when some of it went.
  bool pump();
  /// Gives up on what is held: it counts as left out.
  void discard();

  /// The descriptor takes nothing any more.
  bool is_gone() const { return error_ != 0; }
  /// Why it takes nothing any more, as errno says it; 0 while it does.
  int error() const { return error_; }
  std::size_t held() const { return held_.size() - begin_; }
  /// Lines left out so far.
  std::int64_t left_out() const { return left_out_; }
  /// To poll for writing.
  int fd() const { return fd_; }

 private:
  enum class Kind { file, socket, own, shared };

  bool may_begin_line();
  long write_some(std::string_view piece) const;

  int fd_;
  Kind kind_ = Kind::shared;
  Fd own_;            // the same pipe or terminal, opened again so that it can be non-blocking
  std::string held_;  // from begin_ on
  std::size_t begin_ = 0;
  bool line_begins_ = true, keeps_line_ = true;
  int error_ = 0;
  std::int64_t left_out_ = 0, told_ = 0;
};

}  // namespace kbench
