// CUDA baseline of qr_v2: the vendor's geqrf, by the route that is fastest for the shape.
//
//   n        batch    route                                      best figures on an H200, ms
//   <= 64    >= 16    batched: one cublasSgeqrfBatched           20x32: 0.28 (loop 1.06)
//   others            loop: cusolverDnXgeqrf on 16 streams       40x176: 1.84 (batched 15.2)
//
// One geqrf of these sizes fills a small part of the GPU and is a chain of short launches, so
// independent matrices on several streams overlap; on one stream the loop takes 1000 ms for
// 640x512. cublasSgeqrfBatched works on whole matrices without blocking and is lost beyond small n.
//
// To try another route, set at run time KBENCH_CUSOLVER_ROUTE=batched|loop and
// KBENCH_CUSOLVER_STREAMS=N (1 to 64). The input is row-major and LAPACK's factors are
// column-major, so each call begins with a transposition. Everything else is made in `create` and
// `prepare`; a call allocates nothing and never waits for the device.
//
// The loop is bound by the host's launches, so KBENCH_CUSOLVER_ISSUE chooses how they are issued.
// Mean of 8 repeats, NVIDIA H200, CUDA 13.0, 2026-11-30, in ms (one matrix after the other on one
// stream takes 1000 ms for 640x512):
//
//              40x352   640x512   60x1024   8x2048   2x4096
//   graph       4.42     105.7     33.0     12.7     25.4
//   threads 4   5.13     115.4     36.1     14.4     26.1
//   threads 8   5.24     130.0     38.1     13.5     26.2
//   direct      5.05     160.2     41.5     16.9     27.5    (varies by 15 % at 640x512)
//
//   graph    the default: see below.
//   direct   by the caller's thread.
//   threads  by KBENCH_CUSOLVER_THREADS host threads (1 to 64, default 4), the caller's among them,
//            each feeding its own streams; the call returns when all have issued. An NVTX range is
//            its thread's: a profiler that filters by the caller's range sees a share only.
//   graph    `prepare` captures each call into a CUDA graph and custom_kernel launches it. Calls
//            without a graph (other addresses, no more nodes allowed, capture refused by the
//            library) are issued directly; the report counts them and says why.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "kbench_kernel.h"

namespace {

enum class Route { batched, loop };
enum class Issue { direct, threads, graph };

struct Row {
  std::int64_t largest_n, smallest_batch;
  Route route;
  int streams;
};
// The first row that holds decides.
constexpr Row k_routes[] = {
    {64, 16, Route::batched, 1},
    {std::numeric_limits<std::int64_t>::max(), 1, Route::loop, 16},
};

constexpr int k_tile = 32;
constexpr int k_tile_rows = 8;  // threads of a block in y
constexpr int k_max_streams = 64;
constexpr int k_default_threads = 4;
constexpr int k_max_threads = 64;
// Of all graphs of a shape together; bounds their memory on host and device.
constexpr std::size_t k_max_graph_nodes = 400000;
// Longer than the gap between queued calls, shorter than a sleep and wake-up are worth.
constexpr std::chrono::microseconds k_spin{50};
constexpr std::int64_t k_max_blocks = 1 << 30;
// cuBLAS takes the batch as an int and may put it on a grid dimension of 65535.
constexpr std::int64_t k_batched_chunk = 32768;
constexpr std::int64_t k_alignment = 256;

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
void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error(std::string(what) + ": " + cublasGetStatusString(status));
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

/// Threads that run one share of the work each; the caller's thread is thread 0. Whoever waits
/// spins for k_spin and then sleeps.
class Pool {
 public:
  explicit Pool(int threads) : Pool() {  // so that ~Pool ends the others where one fails to start
    threads_.reserve(static_cast<std::size_t>(threads));
    for (int t = 1; t < threads; ++t) threads_.emplace_back([this, t] { serve(t); });
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

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  /// Runs work(t) once in each thread and returns when all are back. Rethrows the first failure.
  void run(const std::function<void(int)>& work) {
    {
      const std::lock_guard lock(mutex_);
      work_ = &work;
      busy_ = static_cast<int>(threads_.size());
      failure_ = nullptr;
      ++round_;
    }
    wake_.notify_all();
    run_share(work, 0);
    const std::unique_lock lock = wait(done_, [this] { return busy_ == 0; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  Pool() = default;

  /// Returns, holding the mutex, once `ready` is true. What that reads changes under the mutex.
  template <class Ready>
  std::unique_lock<std::mutex> wait(std::condition_variable& signal, Ready ready) {
    const auto end = std::chrono::steady_clock::now() + k_spin;
    while (!ready() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    std::unique_lock lock(mutex_);
    signal.wait(lock, ready);
    return lock;
  }
  void run_share(const std::function<void(int)>& work, int t) {
    try {
      work(t);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }
  void serve(int t) {
    for (std::uint64_t seen = 0;; ++seen) {  // a round begins only when the one before is over
      std::unique_lock lock = wait(wake_, [&] { return stopping_ || round_ != seen; });
      if (stopping_) return;
      const auto* work = work_;
      lock.unlock();
      run_share(*work, t);
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int)>* work_ = nullptr;
  std::exception_ptr failure_;
  std::atomic<int> busy_{0};
  std::atomic<std::uint64_t> round_{0};
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
};

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
using Graph = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;
using GraphExec = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, DestroyGraph>;

/// All that tells one call of a shape from another: input, two outputs, workspace.
using Addresses = std::array<const void*, 4>;

Addresses addresses_of(const kbench_call& call) {
  return {call.inputs[0].data, call.outputs[0].data, call.outputs[1].data, call.workspace};
}

struct Prepared {
  Addresses addresses;
  GraphExec graph;
};

/// A stream with what one geqrf at a time needs.
struct Lane {
  cudaStream_t stream = nullptr;
  cusolverDnHandle_t handle = nullptr;
  cusolverDnParams_t params = nullptr;
  cudaEvent_t done = nullptr;
  std::vector<char> host_workspace;

  Lane() = default;
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() {
    if (handle != nullptr) cusolverDnDestroy(handle);
    if (params != nullptr) cusolverDnDestroyParams(params);
    if (done != nullptr) cudaEventDestroy(done);
    if (stream != nullptr) cudaStreamDestroy(stream);
  }
};

struct State {
  std::int64_t batch = 0, n = 0;
  Row row{};
  cublasHandle_t cublas = nullptr;
  cudaEvent_t fork = nullptr;
  std::vector<std::unique_ptr<Lane>> lanes;
  std::size_t device_bytes = 0;  // of one geqrf

  Issue issue = Issue::direct;
  std::unique_ptr<Pool> pool;  // for Issue::threads
  // For Issue::graph. Graphs may use memory of the lanes' handles.
  std::vector<Prepared> graphs;
  std::size_t graph_nodes = 0;     // of all graphs
  std::size_t left_out = 0;        // prepared calls that got no graph
  std::uint64_t direct_calls = 0;  // of custom_kernel
  std::string capture_failure;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    pool.reset();
    graphs.clear();
    lanes.clear();
    if (fork != nullptr) cudaEventDestroy(fork);
    if (cublas != nullptr) cublasDestroy(cublas);
  }
  /// Device workspace of one lane: the library's, then the info word.
  std::int64_t lane_bytes() const {
    return aligned(static_cast<std::int64_t>(device_bytes)) + k_alignment;
  }
};

Row choose_route(std::int64_t batch, std::int64_t n) {
  Row row = *std::find_if(std::begin(k_routes), std::end(k_routes), [&](const Row& candidate) {
    return n <= candidate.largest_n && batch >= candidate.smallest_batch;
  });
  if (const char* route = std::getenv("KBENCH_CUSOLVER_ROUTE")) {
    if (std::strcmp(route, "batched") != 0 && std::strcmp(route, "loop") != 0) {
      throw std::runtime_error("KBENCH_CUSOLVER_ROUTE is neither `batched` nor `loop`");
    }
    const Route asked = std::strcmp(route, "batched") == 0 ? Route::batched : Route::loop;
    if (asked == Route::loop && row.route != asked) row.streams = 16;
    row.route = asked;
  }
  if (const char* streams = std::getenv("KBENCH_CUSOLVER_STREAMS")) {
    row.streams = std::atoi(streams);
    if (row.streams < 1 || row.streams > k_max_streams) {
      throw std::runtime_error("KBENCH_CUSOLVER_STREAMS is not between 1 and 64");
    }
  }
  row.streams = static_cast<int>(std::min<std::int64_t>(row.streams, batch));
  return row;
}

Issue choose_issue() {
  const char* issue = std::getenv("KBENCH_CUSOLVER_ISSUE");
  if (issue == nullptr || std::strcmp(issue, "graph") == 0) return Issue::graph;
  if (std::strcmp(issue, "threads") == 0) return Issue::threads;
  if (std::strcmp(issue, "direct") == 0) return Issue::direct;
  throw std::runtime_error("KBENCH_CUSOLVER_ISSUE is none of `direct`, `threads` and `graph`");
}

/// Every thread binds to the device here, so that no timed call does.
std::unique_ptr<Pool> make_pool(int streams) {
  int threads = k_default_threads;
  if (const char* asked = std::getenv("KBENCH_CUSOLVER_THREADS")) {
    threads = std::atoi(asked);
    if (threads < 1 || threads > k_max_threads) {
      throw std::runtime_error("KBENCH_CUSOLVER_THREADS is not between 1 and 64");
    }
  }
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  auto pool = std::make_unique<Pool>(std::min(threads, streams));
  pool->run([device](int) { check(cudaSetDevice(device), "cudaSetDevice"); });
  return pool;
}

void make_lanes(State& state) {
  check(cudaEventCreateWithFlags(&state.fork, cudaEventDisableTiming), "cudaEventCreate");
  for (int i = 0; i < state.row.streams; ++i) {
    Lane& lane = *state.lanes.emplace_back(std::make_unique<Lane>());
    check(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaEventCreateWithFlags(&lane.done, cudaEventDisableTiming), "cudaEventCreate");
    check(cusolverDnCreate(&lane.handle), "cusolverDnCreate");
    check(cusolverDnCreateParams(&lane.params), "cusolverDnCreateParams");
    check(cusolverDnSetStream(lane.handle, lane.stream), "cusolverDnSetStream");
    std::size_t host_bytes = 0;
    check(cusolverDnXgeqrf_bufferSize(lane.handle, lane.params, state.n, state.n, CUDA_R_32F,
                                      nullptr, state.n, CUDA_R_32F, nullptr, CUDA_R_32F,
                                      &state.device_bytes, &host_bytes),
          "cusolverDnXgeqrf_bufferSize");
    lane.host_workspace.resize(host_bytes);
  }
}

int create(const kbench_call* shapes, void** out) {
  return report_failure(shapes, [&] {
    auto state = std::make_unique<State>();
    state->batch = shapes->inputs[0].size[0];
    state->n = shapes->inputs[0].size[1];
    state->row = choose_route(state->batch, state->n);
    if (state->row.route == Route::batched) {
      check(cublasCreate(&state->cublas), "cublasCreate");
      check(cublasSetStream(state->cublas, static_cast<cudaStream_t>(shapes->stream)),
            "cublasSetStream");
    } else {
      state->issue = choose_issue();
      make_lanes(*state);
      if (state->issue == Issue::threads) state->pool = make_pool(state->row.streams);
    }
    *out = state.release();
  });
}

std::uint64_t workspace_bytes(void* opaque) {
  const State& state = *static_cast<State*>(opaque);
  if (state.row.route == Route::batched) {
    return static_cast<std::uint64_t>(2 * state.batch) * sizeof(float*);
  }
  return static_cast<std::uint64_t>(state.lane_bytes() * state.row.streams);
}

/// Row-major a to column-major h, one 32 x 32 tile a block, all tiles of all matrices on grid.x.
/// Where `pointers` is given it takes the addresses of each h and tau as cublasSgeqrfBatched wants
/// them.
__global__ void transpose_kernel(const float* __restrict__ a, std::int64_t batch, std::int64_t n,
                                 float* __restrict__ h, float* tau, float** pointers) {
  __shared__ float tile[k_tile][k_tile + 1];
  const std::int64_t tiles = (n + k_tile - 1) / k_tile;
  for (std::int64_t block = blockIdx.x; block < batch * tiles * tiles; block += gridDim.x) {
    const std::int64_t b = block / (tiles * tiles);
    const std::int64_t i0 = block / tiles % tiles * k_tile, j0 = block % tiles * k_tile;
    const float* from = a + b * n * n;
    float* to = h + b * n * n;
    if (pointers != nullptr && i0 == 0 && j0 == 0 && threadIdx.x == 0 && threadIdx.y == 0) {
      pointers[b] = to;
      pointers[batch + b] = tau + b * n;
    }
    for (int r = static_cast<int>(threadIdx.y); r < k_tile; r += k_tile_rows) {
      const std::int64_t i = i0 + r, j = j0 + threadIdx.x;
      if (i < n && j < n) tile[r][threadIdx.x] = from[i * n + j];
    }
    __syncthreads();
    for (int r = static_cast<int>(threadIdx.y); r < k_tile; r += k_tile_rows) {
      const std::int64_t j = j0 + r, i = i0 + threadIdx.x;
      if (i < n && j < n) to[j * n + i] = tile[threadIdx.x][r];
    }
    __syncthreads();
  }
}

void transpose(const State& state, const kbench_call* call, float** pointers) {
  const std::int64_t tiles = (state.n + k_tile - 1) / k_tile;
  const std::int64_t blocks = std::min(state.batch * tiles * tiles, k_max_blocks);
  transpose_kernel<<<static_cast<unsigned>(blocks), dim3(k_tile, k_tile_rows), 0,
                     static_cast<cudaStream_t>(call->stream)>>>(
      static_cast<const float*>(call->inputs[0].data), state.batch, state.n,
      static_cast<float*>(call->outputs[0].data), static_cast<float*>(call->outputs[1].data),
      pointers);
  check(cudaPeekAtLastError(), "transpose_kernel");
}

void run_batched(const State& state, const kbench_call* call) {
  float** pointers = static_cast<float**>(call->workspace);
  transpose(state, call, pointers);
  for (std::int64_t first = 0; first < state.batch; first += k_batched_chunk) {
    const std::int64_t size = std::min(k_batched_chunk, state.batch - first);
    const int n = static_cast<int>(state.n);
    int info = 0;  // of the arguments, not of the matrices
    check(cublasSgeqrfBatched(state.cublas, n, n, pointers + first, n,
                              pointers + state.batch + first, &info, static_cast<int>(size)),
          "cublasSgeqrfBatched");
    if (info != 0) throw std::runtime_error("cublasSgeqrfBatched: info " + std::to_string(info));
  }
}

void factorise(const State& state, const kbench_call* call, int index, std::int64_t b) {
  Lane& lane = *state.lanes[static_cast<std::size_t>(index)];
  const std::int64_t n = state.n;
  float* h = static_cast<float*>(call->outputs[0].data) + b * n * n;
  float* tau = static_cast<float*>(call->outputs[1].data) + b * n;
  char* workspace = static_cast<char*>(call->workspace) + index * state.lane_bytes();
  int* info = reinterpret_cast<int*>(workspace + state.lane_bytes() - k_alignment);
  check(cusolverDnXgeqrf(lane.handle, lane.params, n, n, CUDA_R_32F, h, n, CUDA_R_32F, tau,
                         CUDA_R_32F, workspace, state.device_bytes, lane.host_workspace.data(),
                         lane.host_workspace.size(), info),
        "cusolverDnXgeqrf");
}

/// The matrices of the lanes first, first + step, ..., in the batch's order, behind the fork.
void issue_lanes(const State& state, const kbench_call* call, int first, int step) {
  const int streams = state.row.streams;
  for (int i = first; i < streams; i += step) {
    check(cudaStreamWaitEvent(state.lanes[static_cast<std::size_t>(i)]->stream, state.fork, 0),
          "cudaStreamWaitEvent");
  }
  for (std::int64_t round = 0; round < state.batch; round += streams) {
    for (int i = first; i < streams && round + i < state.batch; i += step) {
      factorise(state, call, i, round + i);
    }
  }
  for (int i = first; i < streams; i += step) {
    const Lane& lane = *state.lanes[static_cast<std::size_t>(i)];
    check(cudaEventRecord(lane.done, lane.stream), "cudaEventRecord");
  }
}

/// `pool` may be null: then the caller's thread issues everything.
void run_loop(const State& state, const kbench_call* call, Pool* pool) {
  const cudaStream_t stream = static_cast<cudaStream_t>(call->stream);
  transpose(state, call, nullptr);
  check(cudaEventRecord(state.fork, stream), "cudaEventRecord");
  if (pool != nullptr) {
    const auto share = [&](int t) { issue_lanes(state, call, t, pool->size()); };
    pool->run(std::ref(share));  // a reference fits into std::function without an allocation
  } else {
    issue_lanes(state, call, 0, 1);
  }
  for (const auto& lane : state.lanes) {
    check(cudaStreamWaitEvent(stream, lane->done, 0), "cudaStreamWaitEvent");
  }
}

/// Captures `call` on `stream` instead of its own. Leaves no stream capturing, whatever happens.
Graph capture(const State& state, kbench_call call, cudaStream_t stream) {
  call.stream = stream;
  // Relaxed: the library may make harmless calls, such as an allocation, that others refuse.
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  std::string failure;
  try {
    run_loop(state, &call, nullptr);
  } catch (const std::exception& error) {
    failure = error.what();
    const cudaError_t cause = cudaGetLastError();
    if (cause != cudaSuccess) failure += std::string(", ") + cudaGetErrorString(cause);
  }
  cudaGraph_t captured = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &captured);
  Graph graph(captured);
  if (!failure.empty()) throw std::runtime_error(failure);
  check(ended, "cudaStreamEndCapture");
  return graph;
}

bool is_on_device(const void* address) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, address), "cudaPointerGetAttributes");
  return attributes.type == cudaMemoryTypeDevice;
}

/// Throws where a node would not do the same work at every launch: host callbacks and copies may
/// refer to host memory that has changed by then, and a launch must not allocate.
void require_repeatable(cudaGraphNode_t node) {
  cudaGraphNodeType type{};
  check(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
  if (type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemset ||
      type == cudaGraphNodeTypeEmpty) {
    return;
  }
  if (type == cudaGraphNodeTypeMemcpy) {
    cudaMemcpy3DParms copy{};
    check(cudaGraphMemcpyNodeGetParams(node, &copy), "cudaGraphMemcpyNodeGetParams");
    if (is_on_device(copy.srcPtr.ptr) && is_on_device(copy.dstPtr.ptr)) return;
    throw std::runtime_error("the graph copies from or to the host");
  }
  throw std::runtime_error("the graph has a node of cudaGraphNodeType " + std::to_string(type));
}

/// Of a graph that can be launched again and again; throws otherwise.
std::size_t count_nodes(cudaGraph_t graph) {
  std::size_t count = 0;
  check(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> nodes(count);
  check(cudaGraphGetNodes(graph, nodes.data(), &count), "cudaGraphGetNodes");
  for (const cudaGraphNode_t node : nodes) require_repeatable(node);
  return count;
}

const Prepared* find_graph(const State& state, const kbench_call& call) {
  const Addresses addresses = addresses_of(call);
  const auto found =
      std::find_if(state.graphs.begin(), state.graphs.end(),
                   [&](const Prepared& prepared) { return prepared.addresses == addresses; });
  return found == state.graphs.end() ? nullptr : &*found;
}

/// Makes the graph of `call` ready to launch, or answers false where its nodes would be too many.
bool add_graph(State& state, const kbench_call& call, cudaStream_t stream) {
  const Graph graph = capture(state, call, stream);
  const std::size_t nodes = count_nodes(graph.get());
  if (state.graph_nodes + nodes > k_max_graph_nodes) return false;
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph.get(), 0), "cudaGraphInstantiate");
  GraphExec owner(executable);
  check(cudaGraphUpload(executable, static_cast<cudaStream_t>(call.stream)), "cudaGraphUpload");
  check(cudaStreamSynchronize(static_cast<cudaStream_t>(call.stream)), "cudaGraphUpload");
  state.graphs.push_back({addresses_of(call), std::move(owner)});
  state.graph_nodes += nodes;
  return true;
}

/// Makes graphs until the nodes are too many or one fails, which is not a failure of the kernel.
void add_graphs(State& state, const kbench_call* calls, std::int32_t count, cudaStream_t stream) {
  try {
    for (std::int32_t i = 0; i < count; ++i) {
      if (find_graph(state, calls[i]) != nullptr) continue;
      // The graphs of a shape are alike: the next one has as many nodes as the mean so far.
      const std::size_t made = state.graphs.size();
      const std::size_t next = made == 0 ? 0 : state.graph_nodes / made;
      if (state.graph_nodes + next > k_max_graph_nodes) break;
      if (!add_graph(state, calls[i], stream)) break;
    }
  } catch (const std::exception& error) {
    state.capture_failure = error.what();
    cudaGetLastError();
  }
  state.left_out =
      static_cast<std::size_t>(std::count_if(calls, calls + count, [&](const kbench_call& call) {
        return find_graph(state, call) == nullptr;
      }));
}

int prepare(void* opaque, const kbench_call* calls, std::int32_t count) {
  State& state = *static_cast<State*>(opaque);
  if (state.issue != Issue::graph || count == 0) return 0;
  return report_failure(calls, [&] {
    // Once without capture: the libraries load kernels and allocate at their first use.
    run_loop(state, calls, nullptr);
    check(cudaStreamSynchronize(static_cast<cudaStream_t>(calls->stream)), "first geqrf");
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    add_graphs(state, calls, count, stream);
    check(cudaStreamDestroy(stream), "cudaStreamDestroy");
  });
}

int custom_kernel(void* opaque, const kbench_call* call) {
  State& state = *static_cast<State*>(opaque);
  return report_failure(call, [&] {
    if (state.row.route == Route::batched) {
      run_batched(state, call);
    } else if (const Prepared* prepared = find_graph(state, *call)) {
      check(cudaGraphLaunch(prepared->graph.get(), static_cast<cudaStream_t>(call->stream)),
            "cudaGraphLaunch");
    } else {
      if (state.issue == Issue::graph) ++state.direct_calls;
      run_loop(state, call, state.pool.get());
    }
  });
}

/// How the loop was issued and, for graphs, which calls had none and why.
std::string describe_issue(const State& state) {
  if (state.issue == Issue::direct) return "direct";
  if (state.issue == Issue::threads) return "threads threads=" + std::to_string(state.pool->size());
  std::string reason;
  if (!state.capture_failure.empty()) {
    reason = " (capture failed: " + state.capture_failure + ")";
  } else if (state.left_out > 0) {
    reason = " (more than " + std::to_string(k_max_graph_nodes) + " nodes)";
  }
  if (state.graphs.empty()) return "direct" + reason;
  return "graph graphs=" + std::to_string(state.graphs.size()) +
         " nodes=" + std::to_string(state.graph_nodes) +
         " without_graph=" + std::to_string(state.left_out) + reason +
         " direct_calls=" + std::to_string(state.direct_calls);
}

int report(void* opaque, char* text, std::uint32_t size) {
  const State& state = *static_cast<State*>(opaque);
  if (state.row.route == Route::batched) {
    std::snprintf(text, size, "route=batched");
  } else {
    std::snprintf(text, size, "route=loop streams=%d issue=%s", state.row.streams,
                  describe_issue(state).c_str());
  }
  return 0;
}

void destroy(void* opaque) { delete static_cast<State*>(opaque); }

}  // namespace

extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {
    KBENCH_ABI_VERSION,
    "cusolver",
    "qr_v2",
    "cuSOLVER geqrf on 16 streams, cublasSgeqrfBatched for many small matrices; environment: "
    "KBENCH_CUSOLVER_ROUTE=batched|loop, KBENCH_CUSOLVER_STREAMS=N, "
    "KBENCH_CUSOLVER_ISSUE=direct|threads|graph, KBENCH_CUSOLVER_THREADS=K",
    KBENCH_CUDA,
    KBENCH_COLUMN_MAJOR,
    0,
    create,
    workspace_bytes,
    prepare,
    custom_kernel,
    report,
    destroy};
