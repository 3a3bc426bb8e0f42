// Moves messages over a socket. Knows frames and their JSON; does not know what a message asks for.
#include "worker/channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace kbench {

Channel::~Channel() { close(socket_); }

std::optional<Message> Channel::receive() {
  std::array<char, 65536> bytes;
  try {
    for (;;) {
      if (std::optional<std::string> payload = decoder_.next()) return from_json(*payload);
      const ssize_t got = recv(socket_, bytes.data(), bytes.size(), 0);
      if (got > 0) {
        decoder_.feed(std::string_view(bytes.data(), static_cast<std::size_t>(got)));
      } else if (got == 0) {
        if (!decoder_.empty()) throw ChannelError("the runner closed in the middle of a message");
        return std::nullopt;
      } else if (errno != EINTR) {
        throw ChannelError(std::string("cannot read from the runner: ") + std::strerror(errno));
      }
    }
  } catch (const ChannelError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw ChannelError(std::string("the runner sent no message: ") + error.what());
  }
}

void Channel::send(const Message& message) {
  const std::string frame = encode_frame(to_json(message));
  std::size_t sent = 0;
  while (sent < frame.size()) {
    const ssize_t took = ::send(socket_, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
    if (took >= 0) {
      sent += static_cast<std::size_t>(took);
    } else if (errno != EINTR) {
      throw ChannelError(std::string("cannot write to the runner: ") + std::strerror(errno));
    }
  }
}

}  // namespace kbench
