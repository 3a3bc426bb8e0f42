// CUDA baseline of qr_v2: the vendor's geqrf, by the route that is fastest for the shape.
//
//   n        batch    route                                      measured on an H200 (CUDA 13.0),
//   ms
//   <= 64    >= 16    batched: one cublasSgeqrfBatched           20x32: 0.28 (loop 1.06)
//   others            loop: cusolverDnXgeqrf on 16 streams       40x176: 1.9 (batched 15.2)
//                                                                40x352: 6.6 (batched 89.5)
//                                                                640x512: 142 (batched 481)
//                                                                60x1024: 54 (batched 2852)
//                                                                8x2048: 22.6, 2x4096: 29.0
// One geqrf of these sizes fills a small part of the GPU and is a chain of short launches, so
// independent matrices on several streams overlap; on one stream the loop takes 1000 ms for
// 640x512. cublasSgeqrfBatched works on whole matrices without blocking and is lost beyond small n.
//
// To try another route, set at run time KBENCH_CUSOLVER_ROUTE=batched|loop and
// KBENCH_CUSOLVER_STREAMS=N (1 to 64). The input is row-major and LAPACK's factors are
// column-major, so each call begins with a transposition. Everything else is made in `create`; a
// call allocates nothing and never waits.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kbench_kernel.h"

namespace {

enum class Route { batched, loop };

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

/// A stream with what one geqrf at a time needs.
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
  cublasHandle_t cublas = nullptr;
  cusolverDnParams_t params = nullptr;
  cudaEvent_t fork = nullptr;
  std::vector<std::unique_ptr<Lane>> lanes;
  std::size_t device_bytes = 0;  // of one geqrf

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    lanes.clear();
    if (params != nullptr) cusolverDnDestroyParams(params);
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

void make_lanes(State& state) {
  check(cusolverDnCreateParams(&state.params), "cusolverDnCreateParams");
  check(cudaEventCreateWithFlags(&state.fork, cudaEventDisableTiming), "cudaEventCreate");
  for (int i = 0; i < state.row.streams; ++i) {
    Lane& lane = *state.lanes.emplace_back(std::make_unique<Lane>());
    check(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking), "cudaStreamCreate");
    check(cudaEventCreateWithFlags(&lane.done, cudaEventDisableTiming), "cudaEventCreate");
    check(cusolverDnCreate(&lane.handle), "cusolverDnCreate");
    check(cusolverDnSetStream(lane.handle, lane.stream), "cusolverDnSetStream");
    std::size_t host_bytes = 0;
    check(cusolverDnXgeqrf_bufferSize(lane.handle, state.params, state.n, state.n, CUDA_R_32F,
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
      make_lanes(*state);
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

void run_loop(const State& state, const kbench_call* call) {
  const cudaStream_t stream = static_cast<cudaStream_t>(call->stream);
  transpose(state, call, nullptr);
  check(cudaEventRecord(state.fork, stream), "cudaEventRecord");
  for (const auto& lane : state.lanes) {
    check(cudaStreamWaitEvent(lane->stream, state.fork, 0), "cudaStreamWaitEvent");
  }
  float* h = static_cast<float*>(call->outputs[0].data);
  float* tau = static_cast<float*>(call->outputs[1].data);
  const std::int64_t n = state.n;
  for (std::int64_t b = 0; b < state.batch; ++b) {
    const std::int64_t index = b % state.row.streams;
    Lane& lane = *state.lanes[static_cast<std::size_t>(index)];
    char* workspace = static_cast<char*>(call->workspace) + index * state.lane_bytes();
    int* info = reinterpret_cast<int*>(workspace + state.lane_bytes() - k_alignment);
    check(cusolverDnXgeqrf(lane.handle, state.params, n, n, CUDA_R_32F, h + b * n * n, n,
                           CUDA_R_32F, tau + b * n, CUDA_R_32F, workspace, state.device_bytes,
                           lane.host_workspace.data(), lane.host_workspace.size(), info),
          "cusolverDnXgeqrf");
  }
  for (const auto& lane : state.lanes) {
    check(cudaEventRecord(lane->done, lane->stream), "cudaEventRecord");
    check(cudaStreamWaitEvent(stream, lane->done, 0), "cudaStreamWaitEvent");
  }
}

int custom_kernel(void* opaque, const kbench_call* call) {
  const State& state = *static_cast<State*>(opaque);
  return report_failure(call, [&] {
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
    std::snprintf(text, size, "route=batched");
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
    "qr_v2",
    "cuSOLVER geqrf on 16 streams, cublasSgeqrfBatched for many small matrices; environment: "
    "KBENCH_CUSOLVER_ROUTE=batched|loop, KBENCH_CUSOLVER_STREAMS=N",
    KBENCH_CUDA,
    KBENCH_COLUMN_MAJOR,
    0,
    create,
    workspace_bytes,
    nullptr,
    custom_kernel,
    report,
    destroy};
