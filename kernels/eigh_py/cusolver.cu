// CUDA baseline of eigh_py: the vendor's eigensolver, by the route that is fastest for the shape.
//
//   n        route                                            measured on an H200 (CUDA 13.0), ms
//   <= 1536  batched: cusolverDnXsyevBatched                  20x32: 0.19 (Xsyevd loop 3.6)
//                                                             40x176: 2.2 (51), 40x352: 19-22 (122)
//                                                             640x512: 171 (2997), 60x1024: 117
//                                                             (635)
//   others   loop: cusolverDnXsyevd, one matrix a stream      8x2048: 196 on one stream
//                                                             (batched 206 to 231)
// Xsyevd waits for the device inside the call, so streams overlap only when each is fed by a host
// thread of its own. XsyevBatched needs n * n * batch below 2^31: larger batches go in pieces, and
// where one matrix alone is too large the loop takes over. An NVTX range is its thread's: a
// profiler that filters by the caller's range sees lane 0 only, so set KBENCH_CUSOLVER_STREAMS=1
// there.
//
// To try another route, set at run time KBENCH_CUSOLVER_ROUTE=batched|loop and
// KBENCH_CUSOLVER_STREAMS=N (1 to 64). The input is symmetric, so a plain copy is its column-major
// form. Handles, threads and workspace are made in `create`; a call allocates nothing.
#include <cuda_runtime.h>
#include <cusolverDn.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kbench_kernel.h"

namespace {

enum class Route { batched, loop };

struct Row {
  std::int64_t largest_n;
  Route route;
  int streams;
};
// The first row that holds decides.
constexpr Row k_routes[] = {
    {1536, Route::batched, 1},
    {std::numeric_limits<std::int64_t>::max(), Route::loop, 8},
};

constexpr int k_max_streams = 64;
constexpr std::int64_t k_alignment = 256;
constexpr std::int64_t k_batched_elements = std::numeric_limits<std::int32_t>::max();
// The batch of one piece may end up on a grid dimension of 65535.
constexpr std::int64_t k_batched_matrices = 32768;
constexpr int k_block = 256;
constexpr std::int64_t k_max_blocks = 65536;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + k_alignment - 1) / k_alignment * k_alignment;
}

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
  }
}
void check(cusolverStatus_t status, const char* what) {
  if (status != CUSOLVER_STATUS_SUCCESS) {
    throw std::runtime_error(std::string(what) + ": cuSOLVER status " + std::to_string(status));
  }
}

/// Runs `body` and turns an exception into the ABI's return code and message.
template <class Body>
int report_failure(const kbench_call* call, Body body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(call->error, call->error_size, "%s", error.what());
    return 1;
  }
}

/// One host thread per lane, waiting between calls; the caller's thread is lane 0.
class Pool {
 public:
  Pool(int lanes, int device) {
    for (int t = 1; t < lanes; ++t) {
      threads_.emplace_back([this, t, device] {
        cudaSetDevice(device);
        wait_for_work(t);
      });
    }
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Runs work(lane) once in each lane and returns when all are back. Rethrows the first failure.
  void run(const std::function<void(int)>& work) {
    {
      const std::lock_guard lock(mutex_);
      work_ = &work;
      busy_ = static_cast<int>(threads_.size());
      failure_ = nullptr;
      ++round_;
    }
    wake_.notify_all();
    run_lane(work, 0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void run_lane(const std::function<void(int)>& work, int lane) {
    try {
      work(lane);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }
  void wait_for_work(int lane) {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stopping_ || round_ != seen; });
      if (stopping_) return;
      seen = round_;
      const auto* work = work_;
      lock.unlock();
      run_lane(*work, lane);
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int)>* work_ = nullptr;
  std::exception_ptr failure_;
  int busy_ = 0;
  std::uint64_t round_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// A stream with what one solver call at a time needs.
struct Lane {
  cudaStream_t stream = nullptr;
  cusolverDnHandle_t handle = nullptr;
  cudaEvent_t done = nullptr;
  std::vector<char> host_workspace;

  Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() {
    if (handle != nullptr) cusolverDnDestroy(handle);
    if (done != nullptr) cudaEventDestroy(done);
    if (stream != nullptr) cudaStreamDestroy(stream);
  }
};

struct State {
  std::int64_t batch = 0, n = 0;
  Row row{};
  std::int64_t piece = 0;  // matrices of one XsyevBatched call
  cusolverDnParams_t params = nullptr;
  cudaEvent_t fork = nullptr;
  std::vector<std::unique_ptr<Lane>> lanes;
  std::size_t device_bytes = 0;  // of one solver call
  std::unique_ptr<Pool> pool;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    pool.reset();
    lanes.clear();
    if (params != nullptr) cusolverDnDestroyParams(params);
    if (fork != nullptr) cudaEventDestroy(fork);
  }
  std::int64_t info_bytes() const { return aligned(piece * std::int64_t{sizeof(int)}); }
  /// Device workspace of one lane: the library's, then the info words.
  std::int64_t lane_bytes() const {
    return aligned(static_cast<std::int64_t>(device_bytes)) + info_bytes();
  }
};

Row choose_route(std::int64_t batch, std::int64_t n) {
  Row row = *std::find_if(std::begin(k_routes), std::end(k_routes),
                          [&](const Row& candidate) { return n <= candidate.largest_n; });
  if (const char* route = std::getenv("KBENCH_CUSOLVER_ROUTE")) {
    if (std::strcmp(route, "batched") != 0 && std::strcmp(route, "loop") != 0) {
      throw std::runtime_error("KBENCH_CUSOLVER_ROUTE is neither `batched` nor `loop`");
    }
    const Route asked = std::strcmp(route, "batched") == 0 ? Route::batched : Route::loop;
    if (asked == Route::loop && row.route != asked) row.streams = 8;
    row.route = asked;
  }
  if (n * n > k_batched_elements) row.route = Route::loop;
  if (const char* streams = std::getenv("KBENCH_CUSOLVER_STREAMS")) {
    row.streams = std::atoi(streams);
    if (row.streams < 1 || row.streams > k_max_streams) {
      throw std::runtime_error("KBENCH_CUSOLVER_STREAMS is not between 1 and 64");
    }
  }
  const std::int64_t useful = row.route == Route::batched ? 1 : batch;
  row.streams = static_cast<int>(std::min<std::int64_t>(row.streams, useful));
  return row;
}

/// Raises the workspace of `lane` to what a call for `size` matrices asks for.
void size_workspace(State& state, Lane& lane, std::int64_t size) {
  std::size_t device_bytes = 0, host_bytes = 0;
  if (state.row.route == Route::batched) {
    check(cusolverDnXsyevBatched_bufferSize(lane.handle, state.params, CUSOLVER_EIG_MODE_VECTOR,
                                            CUBLAS_FILL_MODE_LOWER, state.n, CUDA_R_32F, nullptr,
                                            state.n, CUDA_R_32F, nullptr, CUDA_R_32F, &device_bytes,
                                            &host_bytes, size),
          "cusolverDnXsyevBatched_bufferSize");
  } else {
    check(cusolverDnXsyevd_bufferSize(lane.handle, state.params, CUSOLVER_EIG_MODE_VECTOR,
                                      CUBLAS_FILL_MODE_LOWER, state.n, CUDA_R_32F, nullptr, state.n,
                                      CUDA_R_32F, nullptr, CUDA_R_32F, &device_bytes, &host_bytes),
          "cusolverDnXsyevd_bufferSize");
  }
  state.device_bytes = std::max(state.device_bytes, device_bytes);
  lane.host_workspace.resize(std::max(lane.host_workspace.size(), host_bytes));
}

void make_lanes(State& state, cudaStream_t caller) {
  const bool batched = state.row.route == Route::batched;
  check(cusolverDnCreateParams(&state.params), "cusolverDnCreateParams");
  check(cudaEventCreateWithFlags(&state.fork, cudaEventDisableTiming), "cudaEventCreate");
  for (int i = 0; i < state.row.streams; ++i) {
    Lane& lane = *state.lanes.emplace_back(std::make_unique<Lane>());
    check(cudaEventCreateWithFlags(&lane.done, cudaEventDisableTiming), "cudaEventCreate");
    check(cusolverDnCreate(&lane.handle), "cusolverDnCreate");
    if (!batched) {
      check(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking), "cudaStreamCreate");
    }
    check(cusolverDnSetStream(lane.handle, batched ? caller : lane.stream), "cusolverDnSetStream");
    size_workspace(state, lane, state.piece);
    if (state.batch % state.piece != 0) size_workspace(state, lane, state.batch % state.piece);
  }
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  if (!batched) state.pool = std::make_unique<Pool>(state.row.streams, device);
}

int create(const kbench_call* shapes, void** out) {
  return report_failure(shapes, [&] {
    auto state = std::make_unique<State>();
    state->batch = shapes->inputs[0].size[0];
    state->n = shapes->inputs[0].size[1];
    state->row = choose_route(state->batch, state->n);
    const bool batched = state->row.route == Route::batched;
    const std::int64_t largest =
        std::min(k_batched_matrices, k_batched_elements / (state->n * state->n));
    state->piece = batched ? std::min(state->batch, largest) : 1;
    if (state->n > 1) make_lanes(*state, static_cast<cudaStream_t>(shapes->stream));
    *out = state.release();
  });
}

std::uint64_t workspace_bytes(void* opaque) {
  const State& state = *static_cast<State*>(opaque);
  return state.n == 1 ? 0 : static_cast<std::uint64_t>(state.lane_bytes() * state.row.streams);
}

void run_batched(const State& state, const kbench_call* call) {
  float* q = static_cast<float*>(call->outputs[0].data);
  float* l = static_cast<float*>(call->outputs[1].data);
  Lane& lane = *state.lanes.front();
  const std::int64_t n = state.n;
  char* workspace = static_cast<char*>(call->workspace);
  int* info = reinterpret_cast<int*>(workspace + state.lane_bytes() - state.info_bytes());
  for (std::int64_t first = 0; first < state.batch; first += state.piece) {
    check(cusolverDnXsyevBatched(
              lane.handle, state.params, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_LOWER, n,
              CUDA_R_32F, q + first * n * n, n, CUDA_R_32F, l + first * n, CUDA_R_32F, workspace,
              state.device_bytes, lane.host_workspace.data(), lane.host_workspace.size(), info,
              std::min(state.piece, state.batch - first)),
          "cusolverDnXsyevBatched");
  }
}

/// The share of lane `index`: every streams-th matrix, behind the fork.
void run_lane(const State& state, const kbench_call* call, int index) {
  float* q = static_cast<float*>(call->outputs[0].data);
  float* l = static_cast<float*>(call->outputs[1].data);
  Lane& lane = *state.lanes[static_cast<std::size_t>(index)];
  const std::int64_t n = state.n;
  char* workspace = static_cast<char*>(call->workspace) + index * state.lane_bytes();
  int* info = reinterpret_cast<int*>(workspace + state.lane_bytes() - state.info_bytes());
  check(cudaStreamWaitEvent(lane.stream, state.fork, 0), "cudaStreamWaitEvent");
  for (std::int64_t b = index; b < state.batch; b += state.row.streams) {
    check(cusolverDnXsyevd(lane.handle, state.params, CUSOLVER_EIG_MODE_VECTOR,
                           CUBLAS_FILL_MODE_LOWER, n, CUDA_R_32F, q + b * n * n, n, CUDA_R_32F,
                           l + b * n, CUDA_R_32F, workspace, state.device_bytes,
                           lane.host_workspace.data(), lane.host_workspace.size(), info),
          "cusolverDnXsyevd");
  }
  check(cudaEventRecord(lane.done, lane.stream), "cudaEventRecord");
}

void run_loop(const State& state, const kbench_call* call) {
  const cudaStream_t stream = static_cast<cudaStream_t>(call->stream);
  check(cudaEventRecord(state.fork, stream), "cudaEventRecord");
  state.pool->run([&](int lane) { run_lane(state, call, lane); });
  for (const auto& lane : state.lanes) {
    check(cudaStreamWaitEvent(stream, lane->done, 0), "cudaStreamWaitEvent");
  }
}

/// n = 1: the eigenvector is 1 and the eigenvalue the entry itself.
__global__ void scalar_kernel(const float* a, std::int64_t batch, float* q, float* l) {
  const std::int64_t stride = std::int64_t{k_block} * gridDim.x;
  for (std::int64_t b = std::int64_t{k_block} * blockIdx.x + threadIdx.x; b < batch; b += stride) {
    q[b] = 1.0f;
    l[b] = a[b];
  }
}

void run_scalar(const State& state, const kbench_call* call) {
  const std::int64_t blocks = std::min((state.batch + k_block - 1) / k_block, k_max_blocks);
  scalar_kernel<<<static_cast<unsigned>(blocks), k_block, 0,
                  static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(call->inputs[0].data), state.batch,
      static_cast<float*>(call->outputs[0].data), static_cast<float*>(call->outputs[1].data));
  check(cudaPeekAtLastError(), "scalar_kernel");
}

int custom_kernel(void* opaque, const kbench_call* call) {
  const State& state = *static_cast<State*>(opaque);
  return report_failure(call, [&] {
    if (state.n == 1) {
      run_scalar(state, call);
      return;
    }
    check(cudaMemcpyAsync(call->outputs[0].data, call->inputs[0].data,
                          static_cast<std::size_t>(state.batch * state.n * state.n) * sizeof(float),
                          cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(call->stream)),
          "cudaMemcpyAsync");
    if (state.row.route == Route::batched) {
      run_batched(state, call);
    } else {
      run_loop(state, call);
    }
  });
}

int report(void* opaque, char* text, std::uint32_t size) {
  const State& state = *static_cast<State*>(opaque);
  if (state.row.route == Route::batched) {
    std::snprintf(text, size, "route=batched piece=%lld", static_cast<long long>(state.piece));
  } else {
    std::snprintf(text, size, "route=loop streams=%d", state.row.streams);
  }
  return 0;
}

void destroy(void* opaque) { delete static_cast<State*>(opaque); }

}  // namespace

extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {
    KBENCH_ABI_VERSION,
    "cusolver",
    "eigh_py",
    "cuSOLVER XsyevBatched, Xsyevd on 8 streams for large n; environment: "
    "KBENCH_CUSOLVER_ROUTE=batched|loop, KBENCH_CUSOLVER_STREAMS=N",
    KBENCH_CUDA,
    KBENCH_COLUMN_MAJOR,
    KBENCH_SYNCHRONISES_HOST,
    create,
    workspace_bytes,
    nullptr,
    custom_kernel,
    report,
    destroy};
