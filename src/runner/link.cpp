// Sockets, addresses and frames between ranks. Must not know what a letter asks for.
#include "runner/link.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "core/error.h"

namespace kbench {
namespace {

constexpr int k_patience_ms = 10000;

[[noreturn]] void refuse(const char* what) {
  throw Error(ExitCode::device, fmt::format("cannot connect the ranks ({}: {}); check the network",
                                            what, std::strerror(errno)));
}

/// A peer whose machine is gone is noticed within half a minute, without a word from us.
void watch_over(int socket) {
  const auto set = [socket](int level, int option, int value) {
    setsockopt(socket, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30000);
}

bool is_ready(int socket, short events, int timeout_ms) {
  pollfd entry{socket, events, 0};
  return poll(&entry, 1, timeout_ms) > 0;
}

std::string encode(const Letter& letter) {
  return encode_frame(
      fmt::format("{}{} {}", static_cast<char>(letter.kind), letter.number, letter.body));
}

/// Throws std::runtime_error for anything that encode() does not write.
Letter decode(const std::string& payload) {
  Letter letter;
  const std::size_t blank = payload.find(' ');
  constexpr std::string_view k_kinds = "qafelbtj";
  if (blank == std::string::npos || blank < 2 || k_kinds.find(payload[0]) == std::string::npos) {
    throw std::runtime_error("no letter");
  }
  letter.kind = static_cast<Letter::Kind>(payload[0]);
  const char* end = payload.data() + blank;
  const auto [stop, error] = std::from_chars(payload.data() + 1, end, letter.number);
  if (error != std::errc() || stop != end) throw std::runtime_error("a letter without a number");
  letter.body = payload.substr(blank + 1);
  return letter;
}

/// IPv4 addresses of this machine's interfaces that lead elsewhere.
std::vector<std::string> own_addresses() {
  std::vector<std::string> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) refuse("getifaddrs");
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    const bool usable = (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_LOOPBACK) == 0;
    if (!usable || at->ifa_addr == nullptr || at->ifa_addr->sa_family != AF_INET) continue;
    std::array<char, INET_ADDRSTRLEN> text{};
    const auto* address = reinterpret_cast<const sockaddr_in*>(at->ifa_addr);
    if (inet_ntop(AF_INET, &address->sin_addr, text.data(), text.size()) == nullptr) continue;
    found.emplace_back(text.data());
  }
  freeifaddrs(list);
  return found;
}

/// A connection, or nothing when nobody answers in time.
Fd try_connect(const std::string& address, int port, int timeout_ms) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  if (inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1) return Fd();
  Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) refuse("socket");
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return fd;
  if (errno != EINPROGRESS || !is_ready(fd.get(), POLLOUT, timeout_ms)) return Fd();
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  errno = error;
  return error == 0 ? std::move(fd) : Fd();
}

}  // namespace

Link::Link(Fd socket) : socket_(std::move(socket)) {
  fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  watch_over(socket_.get());
}

bool Link::send(const Letter& letter) {
  const std::string frame = encode(letter);
  std::string_view rest = frame;
  while (!rest.empty() && is_open()) {
    const ssize_t count = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (count > 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      if (!is_ready(socket_.get(), POLLOUT, k_patience_ms)) close();
    } else if (errno != EINTR) {
      close();
    }
  }
  return rest.empty();
}

void Link::read() {
  std::array<char, 65536> bytes;
  while (is_open()) {
    const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count > 0) {
      decoder_.feed({bytes.data(), static_cast<std::size_t>(count)});
      heard_ = Watch::Clock::now();
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      close();
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

std::optional<Letter> Link::take() {
  read();
  try {
    const std::optional<std::string> payload = decoder_.next();
    if (payload) return decode(*payload);
  } catch (const std::runtime_error&) {
    close();
  }
  return std::nullopt;
}

Listener::Listener(bool local) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (!socket_) refuse("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(local ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  constexpr int k_backlog = 1024;
  if (bind(socket_.get(), generic, length) != 0) refuse("bind");
  if (listen(socket_.get(), k_backlog) != 0) refuse("listen");
  if (getsockname(socket_.get(), generic, &length) != 0) refuse("getsockname");
  fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  const std::vector<std::string> names =
      local ? std::vector<std::string>{"127.0.0.1"} : own_addresses();
  constexpr std::size_t k_longest = 2000;
  for (const std::string& name : names) {
    const std::string pair = fmt::format("{} {} ", name, ntohs(address.sin_port));
    if (addresses_.size() + pair.size() < k_longest) addresses_ += pair;
  }
}

std::optional<Link> Listener::accept() {
  Fd fd(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!fd) return std::nullopt;
  return Link(std::move(fd));
}

Link connect_to(const std::string& addresses, double limit_s) {
  std::istringstream words(addresses);
  std::string address;
  int port = 0, last_error = 0;
  while (words >> address >> port) {
    Fd fd = try_connect(address, port, static_cast<int>(limit_s * 1e3));
    if (fd) return Link(std::move(fd));
    last_error = errno;
  }
  throw Error(ExitCode::device,
              fmt::format("cannot reach rank 0 at any of its addresses `{}` ({}); let the ranks' "
                          "machines connect to each other",
                          addresses, std::strerror(last_error)));
}

}  // namespace kbench
