// The launches of one call in their order, and what the runtime has to be told and asked before
// the first of them. Knows the plan, nothing of the kernel ABI.
#ifndef KBENCH_EIGH_TRIDIAGONAL_CALLS_CUH
#define KBENCH_EIGH_TRIDIAGONAL_CALLS_CUH

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "plan.cuh"

namespace tridiagonal {

inline cudaError_t read_device(DeviceFacts& facts) {
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

inline cudaError_t enqueue_one(const Launch& launch, cudaStream_t stream) {
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

inline const void* transform_kernel(std::int64_t n) {
  return n % 4 == 0 ? reinterpret_cast<const void*>(&transform_vectors<true>)
                    : reinterpret_cast<const void*>(&transform_vectors<false>);
}
template <Home Where>
const void* reduce_kernel_of(int ranks) {
  return ranks == 1 ? reinterpret_cast<const void*>(&reduce_matrices<true, Where>)
                    : reinterpret_cast<const void*>(&reduce_matrices<false, Where>);
}
inline const void* reduce_kernel(int ranks, Home home) {
  return home == Home::shared ? reduce_kernel_of<Home::shared>(ranks)
                              : reduce_kernel_of<Home::outside>(ranks);
}

inline Launch reduction(const Plan& plan, const ReduceTask& task) {
  return {plan.in_warp ? reinterpret_cast<const void*>(&reduce_in_warp)
                       : reduce_kernel(plan.ranks, plan.home),
          plan.batch * plan.ranks,
          plan.in_warp ? k_warp_rows : k_threads,
          plan.ranks,
          static_cast<std::size_t>(plan.shared_bytes),
          &task};
}

/// The kernels of a call, in order; a matrix of one row has no reflectors. In pairs, a flagged
/// matrix is left to the FP32 products behind them; in FP32 there is no launch for pairs.
inline cudaError_t enqueue(const Plan& plan, const Buffers& buffers, cudaStream_t stream) {
  const ReduceTask reduce = reduce_task(plan, buffers);
  const SolveTask solve = solve_task(plan, buffers, false);
  const SolveTask again = solve_task(plan, buffers, true);
  const ReflectorTask reflectors = reflector_task(plan, buffers);
  const TransformTask transform = transform_task(plan, buffers);
  const PlainTask plain = plain_task(plan, buffers);
  const std::int64_t batch = plan.batch;
  const std::int64_t strips = plan.products == Products::half_pairs ? transform.strips : 0;
  const Launch launches[] = {
      reduction(plan, reduce),
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
      {transform_kernel(plan.n), batch * strips, k_transform_threads, 1, sizeof(TransformShared),
       &transform},
      {reinterpret_cast<const void*>(&transform_plainly), batch * plain.strips, k_plain_threads, 1,
       sizeof(PlainShared), &plain},
  };
  cudaError_t error = cudaSuccess;
  for (const Launch& launch : launches) {
    if (error == cudaSuccess && launch.blocks > 0) error = enqueue_one(launch, stream);
  }
  return error;
}

/// Kernels may use only the shared memory and the clusters that were asked for before.
inline cudaError_t reserve(int shared_per_block) {
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
inline cudaError_t count_teams(DeviceFacts& facts) {
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
  for (int ranks = 2; ranks <= k_max_ranks && error == cudaSuccess; ranks *= 2) {
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = static_cast<unsigned>(ranks);
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(ranks));
    config.blockDim = dim3(k_threads);
    config.dynamicSmemBytes = static_cast<std::size_t>(facts.shared_per_block);
    config.attrs = &cluster;
    config.numAttrs = 1;
    int& count = facts.teams[static_cast<std::size_t>(rank_shift(ranks))];
    error = cudaOccupancyMaxActiveClusters(&count, reduce_kernel(ranks, Home::shared), &config);
    if (error == cudaErrorInvalidClusterSize) {
      count = 0;
      error = cudaSuccess;
      cudaGetLastError();  // the answer is used, so nothing may find the error later
    }
  }
  return error;
}

/// Captures the launches of one call on a stream of our own, so that no other work is caught.
inline cudaError_t capture(const Plan& plan, const Buffers& buffers, cudaStream_t stream,
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

}  // namespace tridiagonal

#endif  // KBENCH_EIGH_TRIDIAGONAL_CALLS_CUH
