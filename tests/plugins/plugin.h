// What the test plug-ins share: the descriptor's boilerplate, a right answer to begin from, and the
// few operations in which a plug-in can be written once and built for the host and for CUDA.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "kbench_kernel.h"

#ifdef KBENCH_TEST_CUDA
#define KBENCH_TEST_DEVICE KBENCH_CUDA
#else
#define KBENCH_TEST_DEVICE KBENCH_HOST
#endif

// Both problems have one input and outputs of the same sizes: a matrix and a vector.
#ifndef KBENCH_TEST_PROBLEM
#define KBENCH_TEST_PROBLEM "qr_v2"
#endif

/// Defines the descriptor of a plug-in whose only function is `custom_kernel`.
#define KBENCH_TEST_PLUGIN(name, layout) \
  KBENCH_TEST_PLUGIN_WITH(name, layout, nullptr, nullptr, nullptr, nullptr)

/// The same with more functions. A batch of one matrix never reaches `custom_kernel`: it is solved
/// honestly, so that a run can show that the cases around a bad one are unharmed.
#define KBENCH_TEST_PLUGIN_WITH(name, layout, create, prepare, report, destroy) \
  extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {     \
      KBENCH_ABI_VERSION,                                                       \
      name,                                                                     \
      KBENCH_TEST_PROBLEM,                                                      \
      "test plug-in",                                                           \
      KBENCH_TEST_DEVICE,                                                       \
      layout,                                                                   \
      0,                                                                        \
      create,                                                                   \
      nullptr,                                                                  \
      prepare,                                                                  \
      kbench_test::unless_alone<custom_kernel>,                                 \
      report,                                                                   \
      destroy}

namespace kbench_test {

inline float* input(const kbench_call* call) { return static_cast<float*>(call->inputs[0].data); }
inline float* output(const kbench_call* call, int index) {
  return static_cast<float*>(call->outputs[index].data);
}
inline std::int64_t batch(const kbench_call* call) { return call->inputs[0].size[0]; }
inline std::int64_t order(const kbench_call* call) { return call->inputs[0].size[1]; }
/// Floats in an input, and in each output.
inline std::int64_t matrix_count(const kbench_call* call) {
  return batch(call) * order(call) * order(call);
}
inline std::int64_t output_count(const kbench_call* call, int index) {
  return index == 0 ? matrix_count(call) : batch(call) * order(call);
}
inline std::size_t output_bytes(const kbench_call* call, int index) {
  return static_cast<std::size_t>(output_count(call, index)) * sizeof(float);
}

// In host_backend.cpp, cuda_operations.cu and the backend of each problem; all but `allocate` and
// `read` in the stream's order.

/// The right H and tau, or Q and L, the matrix in the layout that the outputs state. On CUDA n at
/// most 32, row-major.
int solve(const kbench_call* call);
void copy(const kbench_call* call, void* to, const void* from, std::size_t bytes);
void write(const kbench_call* call, float* to, float value);
/// Copies to the host and waits.
void read(const kbench_call* call, void* to, const void* from, std::size_t bytes);
/// Memory of the device. Nothing gives it back.
void* allocate(std::size_t bytes);

template <int (*Function)(void*, const kbench_call*)>
int unless_alone(void* state, const kbench_call* call) {
  return batch(call) == 1 ? solve(call) : Function(state, call);
}

/// Tells a timed repeat by its rhythm: there calls come back to back, while in the checked pass
/// kbench checks between them. The first call of a repeat is never told.
class Rhythm {
 public:
  bool back_to_back() const { return Clock::now() - left_ < std::chrono::microseconds(5); }
  /// Returns `code`. The last thing in each call.
  int leave(int code) {
    left_ = Clock::now();
    return code;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point left_{};
};

}  // namespace kbench_test
