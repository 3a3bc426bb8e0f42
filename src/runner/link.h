// A connection between two ranks: whole letters over one TCP stream, sent and taken without
// waiting.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/frame.h"
#include "runner/fd.h"
#include "runner/watch.h"

namespace kbench {

/// What rank 0 and the others say to each other. `number` is that of the question; an answer has
/// the number of its question.
struct Letter {
  enum class Kind : char {
    question = 'q',  ///< body: a Setup or a Job
    answer = 'a',    ///< body: a Hello or a Reply
    failure = 'f',   ///< body: kind of the failure as one digit, then its words
    end = 'e',       ///< the worker is to be ended at once
    finish = 'l',    ///< the worker is to leave; answered by the same
    beat = 'b',      ///< the rank lives
    time = 't',      ///< asks for CLOCK_MONOTONIC; answered by the same with body: nanoseconds
    join = 'j',      ///< body: the secret of the run and the rank's number
  } kind = Kind::beat;
  std::int64_t number = 0;
  std::string body;
};

class Link {
 public:
  Link() = default;
  /// Takes a connected TCP socket.
  explicit Link(Fd socket);

  int socket() const { return socket_.get(); }
  /// False once the other end is gone, or has spoken anything but letters.
  bool is_open() const { return static_cast<bool>(socket_); }
  void close() { socket_.reset(); }

  /// Waits at most a few seconds for room. False, and closed, when it could not be sent.
  bool send(const Letter& letter);
  /// The next letter that has arrived, if any.
  std::optional<Letter> take();
  /// When something was last heard.
  Watch::Clock::time_point heard() const { return heard_; }

 private:
  void read();

  Fd socket_;
  FrameDecoder decoder_;
  Watch::Clock::time_point heard_ = Watch::Clock::now();
};

/// Listens for the other ranks of a run; `local`: on this machine only.
class Listener {
 public:
  explicit Listener(bool local);
  int socket() const { return socket_.get(); }
  /// `address port address port ...`, one pair for each address this machine can be reached at.
  const std::string& addresses() const { return addresses_; }
  /// A connection that has come in, if any.
  std::optional<Link> accept();

 private:
  Fd socket_;
  std::string addresses_;
};

/// Connects to the first of `addresses` that answers. Throws Error(device).
Link connect_to(const std::string& addresses, double limit_s);

}  // namespace kbench
