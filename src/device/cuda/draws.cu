// Torch's CUDA draws and ranges, bit for bit: the arithmetic below is fixed, the launch shape is
// ours. Must not be built with fast-math flags.
#include "core/philox.h"
#include "device/cuda/grid.cuh"
#include "device/cuda/launches.h"

namespace kbench::cuda {
namespace {

constexpr int k_lanes = 4;

// u in [2^-33, 1], as cuRAND makes it from a word.
__device__ float uniform_of(std::uint32_t word) {
  return __fmaf_rn(__uint2float_rn(word), 0x1p-32f, 0x1p-33f);
}

// The device branch of cuRAND's Box-Muller, then torch's scaling by 1 and shift by 0, whose only
// effect is -0 -> +0 (radius -0 when u rounds to 1).
__device__ void box_muller(std::uint32_t x, std::uint32_t y, float* pair) {
  const float c = __int_as_float(0x30C90FDB), half_c = __int_as_float(0x30490FDB);
  const float v = __fmaf_rn(__uint2float_rn(y), c, half_c);
  const float radius = __fsqrt_rn(__fmul_rn(-2.0f, logf(uniform_of(x))));
  float sine, cosine;
  __sincosf(v, &sine, &cosine);
  pair[0] = __fmaf_rn(__fmul_rn(radius, sine), 1.0f, 0.0f);
  pair[1] = __fmaf_rn(__fmul_rn(radius, cosine), 1.0f, 0.0f);
}

struct Normal {
  __device__ void operator()(const philox::Words& words, float* lanes) const {
    box_muller(words.w[0], words.w[1], lanes);
    box_muller(words.w[2], words.w[3], lanes + 2);
  }
};

struct SymmetricUniform {
  __device__ void operator()(const philox::Words& words, float* lanes) const {
    for (int lane = 0; lane < k_lanes; ++lane) {
      const float value = __fmaf_rn(uniform_of(words.w[lane]), 2.0f, -1.0f);
      lanes[lane] = value == 1.0f ? -1.0f : value;
    }
  }
};

// One thread a (generator thread, call): its four lanes lie `thread_count` apart, so a warp stores
// four contiguous stretches. Writes 4 bytes an element and reads nothing.
template <class Transform>
__global__ void __launch_bounds__(philox::k_block)
    draw(std::uint64_t seed, std::uint64_t first_call, std::int64_t count,
         std::int64_t thread_count, float* out) {
  const unsigned blocks_per_call = static_cast<unsigned>(thread_count / philox::k_block);
  const std::int64_t call = blockIdx.x / blocks_per_call;
  const std::int64_t thread = blockIdx.x % blocks_per_call * philox::k_block + threadIdx.x;
  float lanes[k_lanes];
  Transform()(philox::words(seed, static_cast<std::uint64_t>(thread),
                            first_call + static_cast<std::uint64_t>(call)),
              lanes);
  for (int lane = 0; lane < k_lanes; ++lane) {
    const std::int64_t element = (call * k_lanes + lane) * thread_count + thread;
    if (element < count) out[element] = lanes[lane];
  }
}

template <class Transform>
cudaError_t launch_draw(cudaStream_t stream, std::uint64_t seed, std::uint64_t first_call,
                        std::int64_t count, float* out) {
  if (count <= 0) return cudaSuccess;
  const std::int64_t threads = philox::threads(count);
  const std::int64_t calls = ceil_div(count, threads * k_lanes);
  draw<Transform><<<blocks_on_x(calls * (threads / philox::k_block)), philox::k_block, 0, stream>>>(
      seed, first_call, count, threads, out);
  return cudaGetLastError();
}

// The base is an argument, as in torch, so that the compiler cannot specialise powf for it.
__global__ void fill_range(float start, float end, float step, std::int64_t n, bool powers,
                           float base, float* out) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float point = i < n / 2 ? __fmaf_rn(step, static_cast<float>(i), start)
                                : __fmaf_rn(-step, static_cast<float>(n - 1 - i), end);
  out[i] = powers ? powf(base, point) : point;
}

}  // namespace

cudaError_t launch_normal(cudaStream_t stream, std::uint64_t seed, std::uint64_t first_call,
                          std::int64_t count, float* out) {
  return launch_draw<Normal>(stream, seed, first_call, count, out);
}

cudaError_t launch_uniform(cudaStream_t stream, std::uint64_t seed, std::uint64_t first_call,
                           std::int64_t count, float* out) {
  return launch_draw<SymmetricUniform>(stream, seed, first_call, count, out);
}

cudaError_t launch_range(cudaStream_t stream, float start, float end, std::int64_t n, bool powers,
                         float* out) {
  constexpr int k_threads = 256;
  const float step = (end - start) / static_cast<float>(n - 1);
  fill_range<<<blocks_on_x(ceil_div(n, k_threads)), k_threads, 0, stream>>>(start, end, step, n,
                                                                            powers, 10.0f, out);
  return cudaGetLastError();
}

}  // namespace kbench::cuda
