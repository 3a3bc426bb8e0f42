// The plug-in that the kernels `tridiagonal` and `precise` share: it owns the plan of a shape and
// the CUDA graphs of its calls. Knows the kernel ABI and the runtime, nothing of kbench, and never
// looks at data on the host.
#ifndef KBENCH_EIGH_TRIDIAGONAL_PLUGIN_CUH
#define KBENCH_EIGH_TRIDIAGONAL_PLUGIN_CUH

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "calls.cuh"
#include "kbench_kernel.h"

namespace tridiagonal {

/// A call that was prepared: its addresses and the graph that replays its launches.
struct Prepared {
  Buffers buffers;
  cudaGraphExec_t graph;
};

struct State {
  Plan plan{};
  unsigned* flagged = nullptr;  // on the device: matrices solved again since it was made
  std::vector<Prepared> prepared;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    for (const Prepared& call : prepared) cudaGraphExecDestroy(call.graph);
    if (flagged != nullptr) cudaFree(flagged);
  }
};

inline int fail(const kbench_call* call, const char* what, cudaError_t error) {
  std::snprintf(call->error, call->error_size, "%s: %s", what, cudaGetErrorString(error));
  return 1;
}

inline Buffers buffers_of(const State& state, const kbench_call& call) {
  return {static_cast<const float*>(call.inputs[0].data), static_cast<float*>(call.outputs[0].data),
          static_cast<float*>(call.outputs[1].data), static_cast<unsigned char*>(call.workspace),
          state.flagged};
}

inline bool same(const Buffers& x, const Buffers& y) {
  return x.a == y.a && x.q == y.q && x.l == y.l && x.workspace == y.workspace;
}

/// How many thread blocks a matrix the environment asks for, 0 for any; -1, and a message is left,
/// where it says anything else.
inline int read_asked(const kbench_call* shapes) {
  const char* text = std::getenv("KBENCH_TRIDIAGONAL_RANKS");
  if (text == nullptr || *text == '\0') return 0;
  for (int ranks = 1; ranks <= k_max_ranks; ranks *= 2) {
    if (text == std::to_string(ranks)) return ranks;
  }
  std::snprintf(shapes->error, shapes->error_size,
                "KBENCH_TRIDIAGONAL_RANKS is none of 1, 2, 4, 8, 16; unset it");
  return -1;
}

/// Whether the shape can be planned; else a message is left.
inline bool is_possible(const kbench_call* shapes, const Plan& plan, int asked) {
  const auto n = static_cast<long long>(plan.n);
  if (plan.n > k_max_n) {
    std::snprintf(shapes->error, shapes->error_size,
                  "n = `%lld` is too large (at most %d); use --kernel cusolver", n, k_max_n);
    return false;
  }
  if (plan.ranks == 0) {
    std::snprintf(
        shapes->error, shapes->error_size,
        "n = `%lld` cannot be spread over `%d` thread blocks (they do not run together, or "
        "lack shared memory); unset KBENCH_TRIDIAGONAL_RANKS",
        n, asked);
    return false;
  }
  const std::int64_t blocks = plan.batch * std::max<std::int64_t>(plan.ranks, (plan.n + 63) / 64);
  if (blocks <= std::numeric_limits<int>::max()) return true;
  std::snprintf(shapes->error, shapes->error_size,
                "batch `%lld` of n = `%lld` needs a grid of %lld blocks (at most 2^31 - 1); use a "
                "smaller batch",
                static_cast<long long>(plan.batch), n, static_cast<long long>(blocks));
  return false;
}

inline int create(const kbench_call* shapes, void** state, Products products) {
  const std::int64_t batch = shapes->inputs[0].size[0], n = shapes->inputs[0].size[1];
  const int asked = read_asked(shapes);
  if (asked < 0) return 1;
  DeviceFacts facts{};
  cudaError_t error = read_device(facts);
  if (error == cudaSuccess) error = reserve(facts.shared_per_block);
  if (error == cudaSuccess) error = count_teams(facts);
  if (error != cudaSuccess) return fail(shapes, "cannot read the device's properties", error);
  auto own = std::make_unique<State>();
  own->plan.batch = batch;
  own->plan.n = n;
  if (n <= k_max_n) own->plan = make_plan(batch, n, products, facts, asked);
  if (!is_possible(shapes, own->plan, asked)) return 1;
  error = cudaMalloc(&own->flagged, sizeof(unsigned));
  if (error == cudaSuccess) error = cudaMemset(own->flagged, 0, sizeof(unsigned));
  if (error == cudaSuccess) error = cudaDeviceSynchronize();  // our streams do not wait for others
  if (error != cudaSuccess) return fail(shapes, "cannot prepare a counter", error);
  *state = own.release();
  return 0;
}

inline std::uint64_t workspace_bytes(void* state) {
  return static_cast<State*>(state)->plan.workspace.bytes;
}

inline int prepare(void* state, const kbench_call* calls, std::int32_t count) {
  State& own = *static_cast<State*>(state);
  cudaStream_t stream = nullptr;
  cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  for (std::int32_t i = 0; i < count && error == cudaSuccess; ++i) {
    const Buffers buffers = buffers_of(own, calls[i]);
    cudaGraphExec_t exec = nullptr;
    error = capture(own.plan, buffers, stream, exec);
    if (error != cudaSuccess) break;
    own.prepared.push_back({buffers, exec});
    error = cudaGraphUpload(exec, static_cast<cudaStream_t>(calls[i].stream));
  }
  if (stream != nullptr) cudaStreamDestroy(stream);
  return error == cudaSuccess || count == 0 ? 0 : fail(&calls[0], "cannot build a graph", error);
}

inline int custom_kernel(void* state, const kbench_call* call) {
  State& own = *static_cast<State*>(state);
  const Buffers buffers = buffers_of(own, *call);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  if (call->workspace_bytes < own.plan.workspace.bytes) {
    return fail(call, "the workspace is too small", cudaErrorInvalidValue);
  }
  for (const Prepared& prepared : own.prepared) {
    if (!same(prepared.buffers, buffers)) continue;
    const cudaError_t error = cudaGraphLaunch(prepared.graph, stream);
    return error == cudaSuccess ? 0 : fail(call, "cannot launch the graph", error);
  }
  const cudaError_t error = enqueue(own.plan, buffers, stream);
  return error == cudaSuccess ? 0 : fail(call, "cannot launch a kernel", error);
}

/// What `redone_by` names: a flagged matrix is solved again by the FP64 solver on a wider shift,
/// and transformed by FP32 products, as the `precise` kernel does it.
inline int report(void* state, char* text, std::uint32_t size) {
  const State& own = *static_cast<State*>(state);
  unsigned flagged = 0;
  cudaError_t error = cudaDeviceSynchronize();
  if (error == cudaSuccess) {
    error = cudaMemcpy(&flagged, own.flagged, sizeof flagged, cudaMemcpyDeviceToHost);
  }
  if (error != cudaSuccess) return 1;
  std::snprintf(text, size,
                "products=%s; ranks=%d; warp=%d; resident=%d; spilled=%d; outside=%d; graphs=%zu; "
                "flagged=%u; redone_by=precise",
                own.plan.products == Products::full ? "fp32" : "fp16x3", own.plan.ranks,
                own.plan.in_warp ? 1 : 0, own.plan.resident, own.plan.spilled,
                own.plan.home == Home::outside ? 1 : 0, own.prepared.size(), flagged);
  return 0;
}

inline void destroy(void* state) { delete static_cast<State*>(state); }

}  // namespace tridiagonal

#endif  // KBENCH_EIGH_TRIDIAGONAL_PLUGIN_CUH
