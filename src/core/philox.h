// Philox4x32-10 and the element-to-counter mapping of torch's CUDA generator, as pure functions.
//
// Source of the mapping: the behaviour of torch 2.11.0+cu130 on a GPU with 132 SMs and 2048 threads
// per SM. That launch geometry is fixed here, so a seed names the same matrix on every device.
// Included from .cu files: no fmt, JSON or standard containers here.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define KBENCH_HOST_DEVICE __host__ __device__
#else
#define KBENCH_HOST_DEVICE
#endif

namespace kbench::philox {

constexpr std::int64_t k_reference_sms = 132;
constexpr std::int64_t k_reference_threads_per_sm = 2048;
constexpr std::int64_t k_block = 256;
constexpr std::int64_t k_max_blocks = k_reference_sms * (k_reference_threads_per_sm / k_block);

struct Words {
  std::uint32_t w[4];
};

KBENCH_HOST_DEVICE inline std::uint32_t mul_high(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(a) * b) >> 32);
}

/// Four words of subsequence `thread`, call number `call` counted from the generator's start.
KBENCH_HOST_DEVICE inline Words words(std::uint64_t seed, std::uint64_t thread,
                                      std::uint64_t call) {
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  std::uint32_t c0 = static_cast<std::uint32_t>(call), c1 = static_cast<std::uint32_t>(call >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(thread);
  std::uint32_t c3 = static_cast<std::uint32_t>(thread >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint32_t n0 = mul_high(c2, 0xCD9E8D57u) ^ c1 ^ k0;
    const std::uint32_t n1 = c2 * 0xCD9E8D57u;
    const std::uint32_t n2 = mul_high(c0, 0xD2511F53u) ^ c3 ^ k1;
    const std::uint32_t n3 = c0 * 0xD2511F53u;
    c0 = n0;
    c1 = n1;
    c2 = n2;
    c3 = n3;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return Words{{c0, c1, c2, c3}};
}

/// Threads of the reference launch for `count` elements.
KBENCH_HOST_DEVICE inline std::int64_t threads(std::int64_t count) {
  const std::int64_t blocks = (count + k_block - 1) / k_block;
  return k_block * (blocks < k_max_blocks ? blocks : k_max_blocks);
}

/// Offset the generator advances by for `count` elements drawn `per_call` (4 or 2) to a call.
KBENCH_HOST_DEVICE inline std::uint64_t increment(std::int64_t count, int per_call) {
  return count <= 0 ? 0
                    : 4 * static_cast<std::uint64_t>((count - 1) / (threads(count) * per_call) + 1);
}

/// Where element i of `count` comes from: call (relative to offset / 4), lane, thread.
struct Place {
  std::uint64_t call;
  int lane;
  std::uint64_t thread;
};
KBENCH_HOST_DEVICE inline Place place(std::int64_t i, std::int64_t thread_count, int per_call) {
  const std::int64_t stride = thread_count * per_call;
  return Place{static_cast<std::uint64_t>(i / stride),
               static_cast<int>((i % stride) / thread_count),
               static_cast<std::uint64_t>(i % thread_count)};
}

/// Largest float32 and int64 tensors that one fill covers: torch judges its 32-bit indexing on
/// bytes.
constexpr std::int64_t k_float_fill = std::int64_t{1} << 29;
constexpr std::int64_t k_int64_fill = std::int64_t{1} << 28;

/// Visits the fills that one draw of `count` elements consists of, left to right, as
/// fill(offset, first, length), and returns the generator's next offset. Up to `limit` elements are
/// one fill; beyond, one increment is reserved for the whole and left unused, and the tensor is
/// halved until each piece fits and takes its own increment.
template <class Fill>
KBENCH_HOST_DEVICE std::uint64_t visit_pieces(std::uint64_t offset, std::int64_t first,
                                              std::int64_t count, std::int64_t limit, int per_call,
                                              const Fill& fill) {
  if (count <= limit) {
    fill(offset, first, count);
    return offset + increment(count, per_call);
  }
  const std::int64_t half = count / 2;
  offset = visit_pieces(offset, first, half, limit, per_call, fill);
  return visit_pieces(offset, first + half, count - half, limit, per_call, fill);
}
template <class Fill>
KBENCH_HOST_DEVICE std::uint64_t visit_fills(std::uint64_t offset, std::int64_t count,
                                             std::int64_t limit, int per_call, const Fill& fill) {
  if (count > limit) offset += increment(count, per_call);
  return visit_pieces(offset, 0, count, limit, per_call, fill);
}

}  // namespace kbench::philox
