// qr_v2 on CUDA: blocked Householder QR of a batch, FP32 in and out, the trailing updates on the
// tensor cores as three BF16 products. docs/kernels/qr_v2.md explains the design.
//
// This file is the plug-in: it owns the plan of a shape and the CUDA graphs of its calls. Knows
// the kernel ABI and the runtime, nothing of kbench, and never looks at data on the host.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <vector>

#include "blocked/plan.cuh"
#include "kbench_kernel.h"

namespace {

using blocked::Buffers;
using blocked::DeviceFacts;
using blocked::Launch;
using blocked::Plan;

/// A call that was prepared: its addresses and the graph that replays its launches.
struct Prepared {
  Buffers buffers;
  cudaGraphExec_t graph;
};

struct State {
  Plan plan;
  std::vector<Prepared> prepared;
};

int fail(const kbench_call* call, const char* what, cudaError_t error) {
  std::snprintf(call->error, call->error_size, "%s: %s", what, cudaGetErrorString(error));
  return 1;
}

Buffers buffers_of(const kbench_call& call) {
  return {static_cast<const float*>(call.inputs[0].data), static_cast<float*>(call.outputs[0].data),
          static_cast<float*>(call.outputs[1].data), call.workspace};
}

bool same(const Buffers& x, const Buffers& y) {
  return x.a == y.a && x.h == y.h && x.tau == y.tau && x.workspace == y.workspace;
}

cudaError_t read_device(DeviceFacts& facts) {
  int device = 0, clusters = 0, double_ratio = 0;
  cudaError_t error = cudaGetDevice(&device);
  const auto read = [&](int& value, cudaDeviceAttr attribute) {
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&value, attribute, device);
  };
  read(facts.multiprocessors, cudaDevAttrMultiProcessorCount);
  read(facts.shared_per_multiprocessor, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  read(facts.shared_reserved_per_block, cudaDevAttrReservedSharedMemoryPerBlock);
  read(facts.shared_per_block, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  read(clusters, cudaDevAttrClusterLaunch);
  read(double_ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio);
  facts.clusters = clusters != 0;
  facts.fast_double = double_ratio <= 4;
  cudaFuncAttributes wide{};
  if (error == cudaSuccess) {
    error = cudaFuncGetAttributes(
        &wide, reinterpret_cast<const void*>(&blocked::apply_wide<blocked::k_block>));
  }
  facts.warpgroups =
      facts.clusters && wide.maxThreadsPerBlock >= blocked::WideSizes<blocked::k_block>::k_threads;
  return error;
}

/// Blocks that may share a panel or a strip: the variable's, 8 at most; unset, what measured
/// fastest.
int ranks_from(const char* variable, int measured) {
  const char* text = std::getenv(variable);
  return text == nullptr ? measured : std::clamp(std::atoi(text), 0, blocked::k_max_ranks);
}

/// From which n on: 0 in the variable for no n, 1 for any; unset, those for which it measured
/// faster.
int threshold_from(const char* variable, int measured) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return measured;
  return std::atoi(text) == 0 ? std::numeric_limits<int>::max() : 0;
}

/// Kernels may use only the shared memory that was asked for before their first launch.
cudaError_t reserve_shared(const Plan& plan) {
  for (const Launch& launch : plan.launches) {
    cudaFuncAttributes now{};
    cudaError_t error = cudaFuncGetAttributes(&now, launch.kernel);
    if (error == cudaSuccess && now.maxDynamicSharedSizeBytes < launch.shared_bytes) {
      error = cudaFuncSetAttribute(launch.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   launch.shared_bytes);
    }
    if (error == cudaSuccess) {
      error = cudaFuncSetAttribute(launch.kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                   cudaSharedmemCarveoutMaxShared);
    }
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t enqueue_one(const Plan& plan, Launch launch, const Buffers& buffers,
                        cudaStream_t stream) {
  blocked::fill_addresses(plan, launch, buffers);

  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = static_cast<unsigned>(launch.ranks);
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(launch.blocks));
  config.blockDim = dim3(static_cast<unsigned>(launch.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(launch.shared_bytes);
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = launch.ranks > 1 ? 1 : 0;
  blocked::LeftoverTask leftover{launch.panel, launch.apply};
  void* task[] = {launch.step == blocked::Step::leftover ? static_cast<void*>(&leftover)
                  : launch.step == blocked::Step::apply  ? static_cast<void*>(&launch.apply)
                  : launch.step == blocked::Step::cross  ? static_cast<void*>(&launch.cross)
                                                         : static_cast<void*>(&launch.panel)};
  return cudaLaunchKernelExC(&config, launch.kernel, task);
}

/// The streams of a call, one a branch, and the event that orders them. The caller's is the first;
/// without the others all launches run in turn.
struct Branches {
  cudaStream_t stream[blocked::k_branches];
  cudaEvent_t event;
};

cudaError_t wait_for(cudaStream_t later, cudaStream_t earlier, cudaEvent_t event) {
  const cudaError_t error = cudaEventRecord(event, earlier);
  return error == cudaSuccess ? cudaStreamWaitEvent(later, event, 0) : error;
}

cudaError_t enqueue(const Plan& plan, const Buffers& buffers, const Branches& branches) {
  unsigned used = 0;  // branches with launches: a capture knows of no others
  for (const Launch& launch : plan.launches) {
    const cudaStream_t side = branches.stream[launch.branch];
    const cudaStream_t stream = side != nullptr ? side : branches.stream[0];
    cudaError_t error = cudaSuccess;
    for (int other = 0; other < blocked::k_branches; ++other) {
      const bool waits = (launch.waits & used & blocked::bit_of(other)) != 0;
      const cudaStream_t earlier = branches.stream[other];
      if (error != cudaSuccess || !waits || branches.event == nullptr || earlier == stream)
        continue;
      error = wait_for(stream, earlier, branches.event);
    }
    if (error == cudaSuccess) error = enqueue_one(plan, launch, buffers, stream);
    if (error != cudaSuccess) return error;
    used |= blocked::bit_of(launch.branch);
  }
  return cudaSuccess;
}

/// Panels ahead, and the strips that they wait for, have the highest priority, so that they find
/// their multiprocessors before an apply fills them.
cudaError_t make_sides(Branches& branches) {
  int least = 0, greatest = 0;
  cudaError_t error = cudaDeviceGetStreamPriorityRange(&least, &greatest);
  for (int side = 1; side < blocked::k_branches && error == cudaSuccess; ++side) {
    const bool urgent = side == blocked::k_ahead || side == blocked::k_strip;
    error = cudaStreamCreateWithPriority(&branches.stream[side], cudaStreamNonBlocking,
                                         urgent ? greatest : least);
  }
  if (error == cudaSuccess) {
    error = cudaEventCreateWithFlags(&branches.event, cudaEventDisableTiming);
  }
  return error;
}

void destroy_branches(const Branches& branches) {
  if (branches.event != nullptr) cudaEventDestroy(branches.event);
  for (const cudaStream_t stream : branches.stream) {
    if (stream != nullptr) cudaStreamDestroy(stream);
  }
}

/// Whether every launch fits the grid's one dimension; else a message is left.
bool grids_fit(const kbench_call* shapes, const Plan& plan) {
  for (const Launch& launch : plan.launches) {
    if (launch.blocks <= std::numeric_limits<int>::max()) continue;
    std::snprintf(
        shapes->error, shapes->error_size,
        "batch `%lld` of n = `%lld` needs a grid of %lld blocks (at most 2^31 - 1); use a "
        "smaller batch",
        static_cast<long long>(plan.batch), static_cast<long long>(plan.n),
        static_cast<long long>(launch.blocks));
    return false;
  }
  return true;
}

int create(const kbench_call* shapes, void** state) {
  const std::int64_t batch = shapes->inputs[0].size[0], n = shapes->inputs[0].size[1];
  constexpr std::int64_t largest_n = std::int64_t{1} << 24;  // its rows fit 32-bit indices
  if (n > largest_n) {
    std::snprintf(shapes->error, shapes->error_size, "n = `%lld` is too large (at most %lld)",
                  static_cast<long long>(n), static_cast<long long>(largest_n));
    return 1;
  }
  DeviceFacts facts{};
  cudaError_t error = read_device(facts);
  if (error != cudaSuccess) return fail(shapes, "cannot read the device's properties", error);
  const blocked::Limits limits{ranks_from("KBENCH_QR_GRAM_RANKS", blocked::k_max_ranks),
                               ranks_from("KBENCH_QR_APPLY_RANKS", blocked::k_max_apply_ranks),
                               threshold_from("KBENCH_QR_LOOK_AHEAD", blocked::k_look_ahead_from),
                               threshold_from("KBENCH_QR_PAIRS", blocked::k_pairs_from),
                               threshold_from("KBENCH_QR_WARPGROUPS", blocked::k_warpgroups_from)};
  auto own = std::make_unique<State>(State{blocked::make_plan(batch, n, facts, limits), {}});
  if (!grids_fit(shapes, own->plan)) return 1;
  error = reserve_shared(own->plan);
  if (error != cudaSuccess) return fail(shapes, "cannot reserve shared memory", error);
  *state = own.release();
  return 0;
}

std::uint64_t workspace_bytes(void* state) {
  return blocked::workspace_bytes(static_cast<State*>(state)->plan);
}

/// Captures the launches of one call on streams of our own, so that no other work is caught.
cudaError_t capture(const Plan& plan, const Buffers& buffers, const Branches& branches,
                    cudaGraphExec_t& exec) {
  const cudaStream_t stream = branches.stream[0];
  cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (error != cudaSuccess) return error;
  const cudaError_t enqueued = enqueue(plan, buffers, branches);
  cudaGraph_t graph = nullptr;
  error = cudaStreamEndCapture(stream, &graph);
  if (enqueued != cudaSuccess) error = enqueued;
  if (error == cudaSuccess) error = cudaGraphInstantiate(&exec, graph, 0);
  if (graph != nullptr) cudaGraphDestroy(graph);
  return error;
}

int prepare(void* state, const kbench_call* calls, std::int32_t count) {
  State& own = *static_cast<State*>(state);
  if (own.plan.launches.size() < 2) return 0;  // one launch needs no graph
  Branches branches{};
  cudaError_t error = cudaStreamCreateWithFlags(&branches.stream[0], cudaStreamNonBlocking);
  if (error == cudaSuccess && blocked::looks_ahead(own.plan)) error = make_sides(branches);
  for (std::int32_t i = 0; i < count && error == cudaSuccess; ++i) {
    const Buffers buffers = buffers_of(calls[i]);
    cudaGraphExec_t exec = nullptr;
    error = capture(own.plan, buffers, branches, exec);
    if (error != cudaSuccess) break;
    own.prepared.push_back({buffers, exec});
    error = cudaGraphUpload(exec, static_cast<cudaStream_t>(calls[i].stream));
  }
  destroy_branches(branches);
  return error == cudaSuccess || count == 0 ? 0 : fail(&calls[0], "cannot build a graph", error);
}

int custom_kernel(void* state, const kbench_call* call) {
  State& own = *static_cast<State*>(state);
  const Buffers buffers = buffers_of(*call);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  if (call->workspace_bytes < blocked::workspace_bytes(own.plan)) {
    return fail(call, "the workspace is too small", cudaErrorInvalidValue);
  }
  for (const Prepared& prepared : own.prepared) {
    if (!same(prepared.buffers, buffers)) continue;
    const cudaError_t error = cudaGraphLaunch(prepared.graph, stream);
    return error == cudaSuccess ? 0 : fail(call, "cannot launch the graph", error);
  }
  const cudaError_t error = enqueue(own.plan, buffers, {{stream}, nullptr});
  return error == cudaSuccess ? 0 : fail(call, "cannot launch a kernel", error);
}

int report(void* state, char* text, std::uint32_t size) {
  const State& own = *static_cast<State*>(state);
  std::snprintf(text, size, "launches=%zu; graphs=%zu", own.plan.launches.size(),
                own.prepared.size());
  return 0;
}

void destroy(void* state) {
  auto* own = static_cast<State*>(state);
  if (own == nullptr) return;
  for (const Prepared& prepared : own->prepared) cudaGraphExecDestroy(prepared.graph);
  delete own;
}

}  // namespace

extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {
    KBENCH_ABI_VERSION,
    "blocked",
    "qr_v2",
    "blocked Householder QR, register panels and BF16x3 tensor-core updates",
    KBENCH_CUDA,
    KBENCH_ROW_MAJOR,
    0,
    create,
    workspace_bytes,
    prepare,
    custom_kernel,
    report,
    destroy};
