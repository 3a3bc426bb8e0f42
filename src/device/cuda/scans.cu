// One-pass questions about memory: is it all one byte, are two stretches equal, where is the first
// value that is not finite. Answers are integers, so atomics keep them exact. And the empty launch.
#include "device/cuda/grid.cuh"
#include "device/cuda/launches.h"

namespace kbench::cuda {
namespace {

constexpr int k_threads = 256, k_words_of_thread = 4;
constexpr std::int64_t k_most_blocks = 4096;

__device__ bool differ(std::uint8_t a, std::uint8_t b) { return a != b; }
__device__ bool differ(std::uint32_t a, std::uint32_t b) { return a != b; }
__device__ bool differ(uint4 a, uint4 b) {
  return ((a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w)) != 0;
}

template <class Word>
struct OneByte {
  const Word* data;
  Word wanted;
  __device__ bool operator()(std::int64_t k) const { return differ(data[k], wanted); }
};

template <class Word>
struct Pair {
  const Word *a, *b;
  __device__ bool operator()(std::int64_t k) const { return differ(a[k], b[k]); }
};

// Sets *found to 0 when a word is wrong; blocks stop soon after one has found it.
template <class IsWrong>
__global__ void __launch_bounds__(k_threads)
    find_wrong(std::int64_t words, IsWrong is_wrong, unsigned long long* found) {
  constexpr std::int64_t k_chunk = k_threads * k_words_of_thread;
  const volatile unsigned long long* seen = found;
  for (std::int64_t at = blockIdx.x * k_chunk; at < words; at += gridDim.x * k_chunk) {
    if (*seen != k_nothing_found) return;
    bool wrong = false;
#pragma unroll
    for (int k = 0; k < k_words_of_thread; ++k) {
      const std::int64_t word = at + k * k_threads + threadIdx.x;
      if (word < words) wrong |= is_wrong(word);
    }
    if (wrong) atomicMin(found, 0ULL);
  }
}

template <class IsWrong>
cudaError_t launch_find(cudaStream_t stream, std::int64_t words, IsWrong is_wrong,
                        std::uint64_t* found) {
  if (words <= 0) return cudaSuccess;
  const std::int64_t blocks = ceil_div(words, k_threads * k_words_of_thread);
  find_wrong<<<blocks_on_x(blocks < k_most_blocks ? blocks : k_most_blocks), k_threads, 0,
               stream>>>(words, is_wrong, reinterpret_cast<unsigned long long*>(found));
  return cudaGetLastError();
}

// The widest word that divides all of `bits` (addresses and length or'ed together).
int word_bytes(std::uintptr_t bits) { return bits % 16 == 0 ? 16 : (bits % 4 == 0 ? 4 : 1); }

__device__ bool finite(float value) {
  return (__float_as_uint(value) & 0x7F800000u) != 0x7F800000u;
}

// The first value of a word that is not finite, or the number of values in the word.
__device__ int first_bad(float word) { return finite(word) ? 1 : 0; }
__device__ int first_bad(float4 word) {
  if (!finite(word.x)) return 0;
  if (!finite(word.y)) return 1;
  if (!finite(word.z)) return 2;
  return finite(word.w) ? 4 : 3;
}

__device__ void set_zero(float& word) { word = 0.0f; }
__device__ void set_zero(float4& word) { word = make_float4(0.0f, 0.0f, 0.0f, 0.0f); }

// Reads 4 bytes a value, in words of 1 or 4 values; `count` of words. Blocks stop once an earlier
// index is known: an output of NaN alone would otherwise meet in one atomic.
template <class Word>
__global__ void __launch_bounds__(k_threads)
    find_non_finite(const Word* data, std::int64_t count, unsigned long long* found) {
  constexpr int k_values = static_cast<int>(sizeof(Word) / sizeof(float));
  constexpr std::int64_t k_chunk = k_threads * k_words_of_thread;
  const volatile unsigned long long* seen = found;
  for (std::int64_t at = blockIdx.x * k_chunk; at < count; at += gridDim.x * k_chunk) {
    if (*seen <= static_cast<unsigned long long>(at) * k_values) return;
    Word words[k_words_of_thread];
#pragma unroll
    for (int k = 0; k < k_words_of_thread; ++k) {
      const std::int64_t word = at + k * k_threads + threadIdx.x;
      if (word < count) {
        words[k] = data[word];
      } else {
        set_zero(words[k]);
      }
    }
#pragma unroll
    for (int k = 0; k < k_words_of_thread; ++k) {
      const int bad = first_bad(words[k]);
      if (bad < k_values) {
        const std::int64_t word = at + k * k_threads + threadIdx.x;
        atomicMin(found, static_cast<unsigned long long>(word * k_values + bad));
      }
    }
  }
}

template <class Word>
cudaError_t launch_find_non_finite(cudaStream_t stream, const float* data, std::int64_t words,
                                   std::uint64_t* found) {
  const std::int64_t blocks = ceil_div(words, k_threads * k_words_of_thread);
  find_non_finite<<<blocks_on_x(blocks < 4 * k_most_blocks ? blocks : 4 * k_most_blocks), k_threads,
                    0, stream>>>(reinterpret_cast<const Word*>(data), words,
                                 reinterpret_cast<unsigned long long*>(found));
  return cudaGetLastError();
}

__global__ void do_nothing() {}

// The sum is only there to keep the loads: nothing sets `sink`.
__global__ void __launch_bounds__(k_threads)
    read_through(const uint4* data, std::int64_t count, std::uint32_t* sink) {
  std::uint32_t sum = 0;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * k_threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * k_threads + threadIdx.x; i < count;
       i += stride) {
    const uint4 word = data[i];
    sum += word.x ^ word.y ^ word.z ^ word.w;
  }
  if (sink != nullptr) atomicAdd(sink, sum);
}

}  // namespace

cudaError_t launch_read(cudaStream_t stream, const void* data, std::int64_t bytes) {
  const std::int64_t count = bytes / 16;
  if (count == 0) return cudaSuccess;
  constexpr std::int64_t k_enough_blocks = 2048;
  const std::int64_t blocks = std::min((count + k_threads - 1) / k_threads, k_enough_blocks);
  read_through<<<static_cast<unsigned>(blocks), k_threads, 0, stream>>>(
      static_cast<const uint4*>(data), count, nullptr);
  return cudaGetLastError();
}

cudaError_t launch_nothing(cudaStream_t stream) {
  do_nothing<<<1, 1, 0, stream>>>();
  return cudaGetLastError();
}

cudaError_t launch_holds_only(cudaStream_t stream, const void* data, std::uint8_t byte,
                              std::int64_t bytes, std::uint64_t* found) {
  const std::uint32_t word = byte * 0x01010101u;
  switch (word_bytes(reinterpret_cast<std::uintptr_t>(data) | static_cast<std::uintptr_t>(bytes))) {
    case 16:
      return launch_find(
          stream, bytes / 16,
          OneByte<uint4>{static_cast<const uint4*>(data), make_uint4(word, word, word, word)},
          found);
    case 4:
      return launch_find(stream, bytes / 4,
                         OneByte<std::uint32_t>{static_cast<const std::uint32_t*>(data), word},
                         found);
    default:
      return launch_find(stream, bytes,
                         OneByte<std::uint8_t>{static_cast<const std::uint8_t*>(data), byte},
                         found);
  }
}

cudaError_t launch_equal(cudaStream_t stream, const void* a, const void* b, std::int64_t bytes,
                         std::uint64_t* found) {
  switch (word_bytes(reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b) |
                     static_cast<std::uintptr_t>(bytes))) {
    case 16:
      return launch_find(stream, bytes / 16,
                         Pair<uint4>{static_cast<const uint4*>(a), static_cast<const uint4*>(b)},
                         found);
    case 4:
      return launch_find(stream, bytes / 4,
                         Pair<std::uint32_t>{static_cast<const std::uint32_t*>(a),
                                             static_cast<const std::uint32_t*>(b)},
                         found);
    default:
      return launch_find(stream, bytes,
                         Pair<std::uint8_t>{static_cast<const std::uint8_t*>(a),
                                            static_cast<const std::uint8_t*>(b)},
                         found);
  }
}

cudaError_t launch_first_non_finite(cudaStream_t stream, const float* data, std::int64_t count,
                                    std::uint64_t* found) {
  if (count <= 0) return cudaSuccess;
  const bool wide = reinterpret_cast<std::uintptr_t>(data) % sizeof(float4) == 0 && count % 4 == 0;
  return wide ? launch_find_non_finite<float4>(stream, data, count / 4, found)
              : launch_find_non_finite<float>(stream, data, count, found);
}

cudaError_t probe_kernel_image() {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, find_non_finite<float>);
}

}  // namespace kbench::cuda
