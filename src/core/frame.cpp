// Frames on a byte stream. Must not know what a payload says or where the bytes come from.
#include "core/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace kbench {
namespace {

constexpr std::string_view k_magic = "KBF1";
constexpr std::size_t k_header_bytes = 8;

std::size_t length_in(std::string_view header) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    length |= std::size_t{static_cast<std::uint8_t>(header[4 + i])} << (8 * i);
  }
  return length;
}

void require_length(std::size_t length) {
  if (length <= k_max_frame_bytes) return;
  throw std::runtime_error(
      fmt::format("frame of {} bytes (the limit is {})", length, k_max_frame_bytes));
}

}  // namespace

std::string encode_frame(std::string_view payload) {
  require_length(payload.size());
  std::string frame(k_magic);
  frame.reserve(k_header_bytes + payload.size());
  for (int shift = 0; shift < 32; shift += 8) {
    frame += static_cast<char>((payload.size() >> shift) & 0xFF);
  }
  return frame.append(payload);
}

void FrameDecoder::feed(std::string_view bytes) {
  // What was read is dropped here, once per feed, not once per frame.
  buffer_.erase(0, read_);
  read_ = 0;
  buffer_.append(bytes);
}

std::optional<std::string> FrameDecoder::next() {
  const std::string_view rest = std::string_view(buffer_).substr(read_);
  // Foreign bytes are refused at the first one that differs, not when a whole header has come.
  const std::size_t seen = std::min(rest.size(), k_magic.size());
  if (rest.substr(0, seen) != k_magic.substr(0, seen)) {
    throw std::runtime_error("the stream holds bytes that are no frame");
  }
  if (rest.size() < k_header_bytes) return std::nullopt;
  const std::size_t length = length_in(rest);
  require_length(length);
  if (rest.size() - k_header_bytes < length) return std::nullopt;
  read_ += k_header_bytes + length;
  return std::string(rest.substr(k_header_bytes, length));
}

}  // namespace kbench
