// What a worker writes to its stdout and stderr, bounded and made safe on its way to our stderr.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace kbench {

/// Passes on whole lines with control characters escaped, at most `k_limit` bytes a case; then one
/// line says that the rest is cut.
class OutputForwarder {
 public:
  static constexpr std::size_t k_limit = std::size_t{64} << 10;

  /// `sink` takes one line without its newline.
  explicit OutputForwarder(std::function<void(std::string_view)> sink) : sink_(std::move(sink)) {}

  /// The allowance starts anew.
  void begin_case();
  void take(std::string_view bytes);
  /// Passes on an unfinished last line.
  void flush();

 private:
  void put_line(std::string_view line);

  std::function<void(std::string_view)> sink_;
  std::string pending_;
  std::size_t passed_ = 0;
  bool cut_ = false;
};

}  // namespace kbench
