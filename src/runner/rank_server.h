// What a rank other than 0 does: its worker is at the service of rank 0.
#pragma once

#include <string>
#include <string_view>

#include "runner/lane.h"
#include "runner/link.h"
#include "runner/session.h"

namespace kbench {

/// Serves rank 0 until it lets go of the connection, or `watch` stops. Nothing is left of any
/// worker when this returns.
void serve_rank(Link& link, Session& session, Watch& watch);

/// A failure as the body of a letter, and back. failure_of throws std::runtime_error.
std::string failure_text(const Failure& failure);
Failure failure_of(std::string_view text);

}  // namespace kbench
