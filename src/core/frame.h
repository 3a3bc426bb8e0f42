// Length-framed messages on a byte stream: 4 bytes magic, 4 bytes little-endian length, payload.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kbench {

constexpr std::size_t k_max_frame_bytes = std::size_t{64} << 20;

std::string encode_frame(std::string_view payload);

/// Takes bytes as they come and gives whole payloads. Throws std::runtime_error on a wrong magic or
/// length: the stream is then unusable.
class FrameDecoder {
 public:
  void feed(std::string_view bytes);
  std::optional<std::string> next();
  bool empty() const { return buffer_.size() == read_; }

 private:
  std::string buffer_;
  std::size_t read_ = 0;
};

}  // namespace kbench
