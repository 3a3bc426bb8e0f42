// Right, and takes longer where the first or the last call's input is not there: what every kernel
// looks like that has its answers from elsewhere and works honestly only where it must.
#include "side_stream.cuh"

namespace {

const float *first_input = nullptr, *last_input = nullptr;

__global__ void spin_where_hidden(const float* a, const float* b, long long duration_ns) {
  if (isnan(*a) || isnan(*b)) spin(duration_ns);
}

int prepare(void*, const kbench_call* calls, std::int32_t count) {
  first_input = kbench_test::input(calls);
  last_input = kbench_test::input(calls + count - 1);
  return 0;
}

int custom_kernel(void*, const kbench_call* call) {
  spin_where_hidden<<<1, 1, 0, stream_of(call)>>>(first_input, last_input, 2 * k_spin_ns);
  return kbench_test::solve(call);
}

}  // namespace

KBENCH_TEST_PLUGIN_WITH("cuda_slow_when_hidden", KBENCH_ROW_MAJOR, nullptr, prepare, nullptr,
                        nullptr);
