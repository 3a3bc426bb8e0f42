// What the CUDA test plug-ins have beside the operations of plugin.h.
#pragma once

#include <cuda_runtime.h>

#include "plugin.h"

inline cudaStream_t stream_of(const kbench_call* call) {
  return static_cast<cudaStream_t>(call->stream);
}
