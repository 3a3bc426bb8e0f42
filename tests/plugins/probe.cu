// Right for n <= 32, by exactly one kernel a call.
#include "cuda_plugin.cuh"

namespace {

int custom_kernel(void*, const kbench_call* call) { return launch_probe(call); }

}  // namespace

KBENCH_CUDA_TEST_PLUGIN("probe");
