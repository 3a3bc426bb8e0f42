// Right within the clock, but leaves more work on a stream of its own that is never joined.
#include "side_stream.cuh"

namespace {

int custom_kernel(void* state, const kbench_call* call) {
  SideStream& own = *static_cast<SideStream*>(state);
  const bool timed = own.rhythm.back_to_back();  // before a launch, which takes long itself
  const int code = kbench_test::solve(call);
  if (timed) {
    fork_side_stream(own, call);
    spin_kernel<<<1, 1, 0, own.stream>>>(k_spin_ns);
  }
  return own.rhythm.leave(code);
}

}  // namespace

KBENCH_SIDE_STREAM_PLUGIN("cuda_late_stream");
