// eigh_py on CUDA: Householder tridiagonalisation on chip, FP64 bisection and twisted
// factorisations, back-transformation on the tensor cores as three FP16 products.
// docs/kernels/eigh_py.md explains the design.
//
// This file is the plug-in: it owns the plan of a shape and the CUDA graphs of its calls. Knows the
// kernel ABI and the runtime, nothing of kbench, and never looks at data on the host.
//
// To try another spread of a matrix over thread blocks, set KBENCH_TRIDIAGONAL_RANKS=1|2|4|8|16.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kbench_kernel.h"
#include "tridiagonal/plan.cuh"

namespace {

using tridiagonal::Buffers;
using tridiagonal::DeviceFacts;
using tridiagonal::Home;
using tridiagonal::Plan;

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

int fail(const kbench_call* call, const char* what, cudaError_t error) {
  std::snprintf(call->error, call->error_size, "%s: %s", what, cudaGetErrorString(error));
  return 1;
}

Buffers buffers_of(const State& state, const kbench_call& call) {
  return {static_cast<const float*>(call.inputs[0].data), static_cast<float*>(call.outputs[0].data),
          static_cast<float*>(call.outputs[1].data), static_cast<unsigned char*>(call.workspace),
          state.flagged};
}

bool same(const Buffers& x, const Buffers& y) {
  return x.a == y.a && x.q == y.q && x.l == y.l && x.workspace == y.workspace;
}

cudaError_t read_device(DeviceFacts& facts) {
  int device = 0, cache = 0;
  cudaError_t error = cudaGetDevice(&device);
  const auto read = [&](int& value, cudaDeviceAttr attribute) {
    if (error == cudaSuccess) error = cudaDeviceGetAttribute(&value, attribute, device);
  };
  read(facts.teams[0], cudaDevAttrMultiProcessorCount);  // the reduction fills one each
  read(facts.shared_per_block, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  read(cache, cudaDevAttrL2CacheSize);
  facts.cache_bytes = std::max(1, cache);
  return error;
}

struct Launch {
  const void* kernel;
  std::int64_t blocks;
  int threads;
  int ranks;
  std::size_t shared_bytes;
  const void* task;
};

cudaError_t enqueue_one(const Launch& launch, cudaStream_t stream) {
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = static_cast<unsigned>(launch.ranks);
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(launch.blocks));
  config.blockDim = dim3(static_cast<unsigned>(launch.threads));
  config.dynamicSmemBytes = launch.shared_bytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = launch.ranks > 1 ? 1 : 0;
  void* arguments[] = {const_cast<void*>(launch.task)};
  return cudaLaunchKernelExC(&config, launch.kernel, arguments);
}

const void* transform_kernel(std::int64_t n) {
  return n % 4 == 0 ? reinterpret_cast<const void*>(&tridiagonal::transform_vectors<true>)
                    : reinterpret_cast<const void*>(&tridiagonal::transform_vectors<false>);
}
template <Home Where>
const void* reduce_kernel_at(int ranks) {
  return ranks == 1 ? reinterpret_cast<const void*>(&tridiagonal::reduce_matrices<true, Where>)
                    : reinterpret_cast<const void*>(&tridiagonal::reduce_matrices<false, Where>);
}
const void* reduce_kernel(int ranks, Home home) {
  return home == Home::shared ? reduce_kernel_at<Home::shared>(ranks)
                              : reduce_kernel_at<Home::outside>(ranks);
}

/// The kernels of a call, in order; a matrix of one row has no reflectors.
cudaError_t enqueue(const Plan& plan, const Buffers& buffers, cudaStream_t stream) {
  using namespace tridiagonal;
  const ReduceTask reduce = reduce_task(plan, buffers);
  const SolveTask solve = solve_task(plan, buffers, false);
  const SolveTask again = solve_task(plan, buffers, true);
  const ReflectorTask reflectors = reflector_task(plan, buffers);
  const TransformTask transform = transform_task(plan, buffers);
  const std::int64_t batch = plan.batch;
  const Launch launches[] = {
      {reduce_kernel(plan.ranks, plan.home), batch * plan.ranks, k_threads, plan.ranks,
       static_cast<std::size_t>(plan.shared_bytes), &reduce},
      {reinterpret_cast<const void*>(&prepare_rows), batch, k_solve_threads, 1,
       k_solve_threads / 32 * sizeof(float), &solve},
      {reinterpret_cast<const void*>(&solve_pairs), batch * solve.blocks, k_solve_threads, 1,
       k_solve_threads * sizeof(Sample), &solve},
      {reinterpret_cast<const void*>(&certify_pairs), batch, k_certify_threads, 1,
       k_certify_threads / 32 * sizeof(unsigned), &solve},
      {reinterpret_cast<const void*>(&solve_pairs), batch * again.blocks, k_solve_threads, 1,
       k_solve_threads * sizeof(Sample), &again},
      {reinterpret_cast<const void*>(&prepare_reflectors), batch * reflector_blocks(reflectors.n),
       k_reflector_threads, 1, sizeof(ReflectorShared), &reflectors},
      {transform_kernel(plan.n), batch * transform.strips, k_transform_threads, 1,
       sizeof(TransformShared), &transform},
  };
  cudaError_t error = cudaSuccess;
  for (const Launch& launch : launches) {
    if (error == cudaSuccess && launch.blocks > 0) error = enqueue_one(launch, stream);
  }
  return error;
}

/// Kernels may use only the shared memory and the clusters that were asked for before.
cudaError_t reserve(int shared_per_block) {
  cudaError_t error = cudaSuccess;
  const auto set = [&error](const void* kernel, cudaFuncAttribute attribute, int value) {
    if (error == cudaSuccess) error = cudaFuncSetAttribute(kernel, attribute, value);
  };
  for (const Home home : {Home::shared, Home::outside}) {
    for (const int ranks : {1, 2}) {
      set(reduce_kernel(ranks, home), cudaFuncAttributeMaxDynamicSharedMemorySize,
          shared_per_block);
    }
  }
  for (const int n : {1, 4}) {
    set(transform_kernel(n), cudaFuncAttributePreferredSharedMemoryCarveout,
        cudaSharedmemCarveoutMaxShared);
  }
  return error;
}

/// How many clusters of each size the device runs at once. After `reserve`.
cudaError_t count_teams(DeviceFacts& facts) {
  int device = 0, clusters = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, device);
  }
  if (error != cudaSuccess || clusters == 0) return error;
  for (const Home home : {Home::shared, Home::outside}) {
    if (error != cudaSuccess) break;
    error = cudaFuncSetAttribute(reduce_kernel(2, home),
                                 cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  }
  for (int ranks = 2; ranks <= tridiagonal::k_max_ranks && error == cudaSuccess; ranks *= 2) {
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = static_cast<unsigned>(ranks);
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(ranks));
    config.blockDim = dim3(tridiagonal::k_threads);
    config.dynamicSmemBytes = static_cast<std::size_t>(facts.shared_per_block);
    config.attrs = &cluster;
    config.numAttrs = 1;
    int& count = facts.teams[static_cast<std::size_t>(tridiagonal::rank_shift(ranks))];
    error = cudaOccupancyMaxActiveClusters(&count, reduce_kernel(ranks, Home::shared), &config);
    if (error == cudaErrorInvalidClusterSize) {
      count = 0;
      error = cudaSuccess;
      cudaGetLastError();  // the answer is used, so nothing may find the error later
    }
  }
  return error;
}

/// The spread that the environment asks for; 0 where it asks for none, -1 where for nonsense.
int asked_ranks() {
  const char* text = std::getenv("KBENCH_TRIDIAGONAL_RANKS");
  if (text == nullptr || *text == '\0') return 0;
  for (const int ranks : {1, 2, 4, 8, 16}) {
    if (std::strcmp(text, std::to_string(ranks).c_str()) == 0) return ranks;
  }
  return -1;
}

/// Whether the shape can be planned; else a message is left.
bool is_possible(const kbench_call* shapes, const Plan& plan, int asked) {
  const auto n = static_cast<long long>(plan.n);
  if (plan.n > tridiagonal::k_max_n) {
    std::snprintf(shapes->error, shapes->error_size,
                  "n = `%lld` is too large (at most %d); use --kernel cusolver", n,
                  tridiagonal::k_max_n);
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

int create(const kbench_call* shapes, void** state) {
  const std::int64_t batch = shapes->inputs[0].size[0], n = shapes->inputs[0].size[1];
  const int asked = asked_ranks();
  if (asked < 0) {
    std::snprintf(shapes->error, shapes->error_size,
                  "KBENCH_TRIDIAGONAL_RANKS is none of 1, 2, 4, 8, 16; unset it");
    return 1;
  }
  DeviceFacts facts{};
  cudaError_t error = read_device(facts);
  if (error == cudaSuccess) error = reserve(facts.shared_per_block);
  if (error == cudaSuccess) error = count_teams(facts);
  if (error != cudaSuccess) return fail(shapes, "cannot read the device's properties", error);
  auto own = std::make_unique<State>();
  own->plan.batch = batch;
  own->plan.n = n;
  if (n <= tridiagonal::k_max_n) own->plan = tridiagonal::make_plan(batch, n, facts, asked);
  if (!is_possible(shapes, own->plan, asked)) return 1;
  error = cudaMalloc(&own->flagged, sizeof(unsigned));
  if (error == cudaSuccess) error = cudaMemset(own->flagged, 0, sizeof(unsigned));
  if (error == cudaSuccess) error = cudaDeviceSynchronize();  // our streams do not wait for others
  if (error != cudaSuccess) return fail(shapes, "cannot prepare a counter", error);
  *state = own.release();
  return 0;
}

std::uint64_t workspace_bytes(void* state) {
  return static_cast<State*>(state)->plan.workspace.bytes;
}

/// Captures the launches of one call on a stream of our own, so that no other work is caught.
cudaError_t capture(const Plan& plan, const Buffers& buffers, cudaStream_t stream,
                    cudaGraphExec_t& exec) {
  cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (error != cudaSuccess) return error;
  const cudaError_t enqueued = enqueue(plan, buffers, stream);
  cudaGraph_t graph = nullptr;
  error = cudaStreamEndCapture(stream, &graph);
  if (enqueued != cudaSuccess) error = enqueued;
  if (error == cudaSuccess) error = cudaGraphInstantiate(&exec, graph, 0);
  if (graph != nullptr) cudaGraphDestroy(graph);
  return error;
}

int prepare(void* state, const kbench_call* calls, std::int32_t count) {
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

int custom_kernel(void* state, const kbench_call* call) {
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

int report(void* state, char* text, std::uint32_t size) {
  const State& own = *static_cast<State*>(state);
  unsigned flagged = 0;
  cudaError_t error = cudaDeviceSynchronize();
  if (error == cudaSuccess) {
    error = cudaMemcpy(&flagged, own.flagged, sizeof flagged, cudaMemcpyDeviceToHost);
  }
  if (error != cudaSuccess) return 1;
  std::snprintf(text, size, "ranks=%d; resident=%d; spilled=%d; outside=%d; graphs=%zu; flagged=%u",
                own.plan.ranks, own.plan.resident, own.plan.spilled,
                own.plan.home == Home::outside ? 1 : 0, own.prepared.size(), flagged);
  return 0;
}

void destroy(void* state) { delete static_cast<State*>(state); }

}  // namespace

extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {
    KBENCH_ABI_VERSION,
    "tridiagonal",
    "eigh_py",
    "Householder reduction on chip, FP64 bisection and twisted factorisations, FP16x3 tensor-core "
    "back-transformation; environment: KBENCH_TRIDIAGONAL_RANKS=1|2|4|8|16",
    KBENCH_CUDA,
    KBENCH_ROW_MAJOR,
    0,
    create,
    workspace_bytes,
    prepare,
    custom_kernel,
    report,
    destroy};
