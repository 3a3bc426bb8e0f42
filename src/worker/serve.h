// The worker: builds inputs, runs the kernel, checks. It never formats output and never decides the
// outcome of a run.
#pragma once

namespace kbench {

/// Serves Setup and Job messages on a connected stream socket until the peer closes it. Owns
/// `socket`. Returns the process exit status (0 unless the channel itself failed).
int serve(int socket);

}  // namespace kbench
