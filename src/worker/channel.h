// The worker's end of the socket: framed JSON messages.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "core/frame.h"
#include "core/message.h"

namespace kbench {

/// The peer is gone or speaks something else; the worker ends.
class ChannelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Owns a connected stream socket. Blocking; not thread-safe.
class Channel {
 public:
  explicit Channel(int socket) : socket_(socket) {}
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// The next message, or nothing when the peer has closed. Throws ChannelError.
  std::optional<Message> receive();
  /// Throws ChannelError when the peer does not take it. Never raises SIGPIPE.
  void send(const Message& message);

 private:
  int socket_;
  FrameDecoder decoder_;
};

}  // namespace kbench
