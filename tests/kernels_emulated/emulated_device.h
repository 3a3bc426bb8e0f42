// A GPU in miniature, on which the blocked QR kernels run on a host: one fibre a thread, real
// barriers and shuffles, the fragment layouts of the tensor cores. Included before the kernels,
// it takes the place of their primitives.cuh (whose include guard it defines) and of CUDA.
//
// What it cannot show: the cost of anything, and the memory model of a device.
#ifndef KBENCH_QR_BLOCKED_PRIMITIVES_CUH
#define KBENCH_QR_BLOCKED_PRIMITIVES_CUH

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(8) float2 {
  float x, y;
};

namespace emulated {

/// In which order threads take their turns: a kernel's result must not depend on it.
enum class Order { forward, backward, warps_backward, lanes_backward };

struct Grid {
  std::int64_t blocks;
  int threads;  // a block, a multiple of 32
  int ranks;    // blocks a cluster
  std::size_t shared_bytes;
};

/// Runs `kernel` once a thread. Shared memory starts as NaN; a barrier that not all threads reach
/// throws std::runtime_error.
void launch(const Grid& grid, Order order, const std::function<void()>& kernel);

int thread_index();
std::int64_t block_index();
int cluster_rank();
void* shared_memory();
void block_barrier();
void cluster_barrier();
/// A barrier of `threads` threads of the block.
void part_barrier(int id, int threads);
/// Of the message at an address of this block: `tell` by each of `tellers` threads,
/// `wait_until_told` until all did more than `turn` times. One that was not prepared is an error.
void prepare_message(const void* message, int tellers);
void tell(const void* message);
void wait_until_told(const void* message, unsigned turn);
/// The variable of block `rank` of this cluster that lies where `local` does in this block.
void* twin(const void* local, int rank);

/// All 32 lanes of the warp hand in `own` and get, by lane, what the others handed in.
constexpr std::size_t k_most_payload = 32;
const unsigned char* exchange(const void* own, std::size_t size);
template <class T>
struct Lanes {
  const unsigned char* slots;
  T operator[](int lane) const {
    T value;
    std::memcpy(&value, slots + static_cast<std::size_t>(lane) * k_most_payload, sizeof(T));
    return value;
  }
};
template <class T>
Lanes<T> exchange(const T& own) {
  static_assert(sizeof(T) <= k_most_payload);
  return {exchange(&own, sizeof(T))};
}

/// Asynchronous copies are carried out as late as they may be.
void copy_async(void* to, const void* from, std::size_t bytes, bool valid);
void copy_commit();
void copy_wait(int pending);

struct Index {
  struct X {
    bool is_block;
    operator unsigned() const {
      return is_block ? static_cast<unsigned>(block_index())
                      : static_cast<unsigned>(thread_index());
    }
  } x;
};

float bf16(std::uint32_t bits);
std::uint32_t to_bf16(float x);
/// d += a b as the tensor cores add: products exact, the sum rounded toward zero.
void multiply_add(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1);
void multiply_add(double (&d)[2], double a, double b);
void load_tiles(std::uint32_t (&tile)[4], const void* row, bool transposed);

}  // namespace emulated

constexpr emulated::Index threadIdx{{false}}, blockIdx{{true}};

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }

template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return emulated::exchange(value)[emulated::thread_index() % 32 ^ mask];
}
template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return emulated::exchange(value)[lane];
}
inline int __any_sync(unsigned, int claim) {
  const auto all = emulated::exchange(claim);
  int any = 0;
  for (int lane = 0; lane < 32; ++lane) any |= all[lane];
  return any;
}
inline unsigned __ballot_sync(unsigned, bool claim) {
  const auto all = emulated::exchange(claim);
  unsigned bits = 0;
  for (int lane = 0; lane < 32; ++lane) bits |= static_cast<unsigned>(all[lane]) << lane;
  return bits;
}
inline unsigned __reduce_max_sync(unsigned, unsigned value) {
  const auto all = emulated::exchange(value);
  unsigned most = 0;
  for (int lane = 0; lane < 32; ++lane) most = all[lane] > most ? all[lane] : most;
  return most;
}

namespace blocked {

constexpr unsigned k_full_warp = 0xffffffffu;

template <class T>
T& shared_as() {
  return *static_cast<T*>(emulated::shared_memory());
}
inline void block_barrier() { emulated::block_barrier(); }
inline void warp_barrier() { emulated::exchange(0); }
inline void part_barrier(int id, int threads) { emulated::part_barrier(id, threads); }
using Message = std::uint64_t;
inline void prepare_message(Message& message, int tellers) {
  emulated::prepare_message(&message, tellers);
}
inline void tell(Message& message) { emulated::tell(&message); }
inline void wait_until_told(Message& message, int turn) {
  emulated::wait_until_told(&message, static_cast<unsigned>(turn));
}
bool block_any(bool claim);
inline void cluster_barrier() { emulated::cluster_barrier(); }
inline int cluster_rank() { return emulated::cluster_rank(); }
template <class T>
void store_twin(T* local, int rank, T value) {
  *static_cast<T*>(emulated::twin(local, rank)) = value;
}
template <class T>
T load_twin(const T* local, int rank) {
  return *static_cast<const T*>(emulated::twin(local, rank));
}
template <class T>
T load_past_l1(const T* from) {
  return *from;
}
inline void copy_async(void* to, const void* from, bool valid) {
  emulated::copy_async(to, from, 16, valid);
}
inline void copy_async_word(void* to, const void* from, bool valid) {
  emulated::copy_async(to, from, 4, valid);
}
inline void copy_commit() { emulated::copy_commit(); }
template <int Pending>
void copy_wait() {
  emulated::copy_wait(Pending);
}
inline void load_tiles(std::uint32_t (&tile)[4], const void* row) {
  emulated::load_tiles(tile, row, false);
}
inline void load_tiles_transposed(std::uint32_t (&tile)[4], const void* row) {
  emulated::load_tiles(tile, row, true);
}
inline void multiply_add(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                         std::uint32_t b1) {
  emulated::multiply_add(d, a, b0, b1);
}
inline void multiply_add(double (&d)[2], double a, double b) { emulated::multiply_add(d, a, b); }
inline void multiply_add(double (&d)[4], const double (&a)[4], const double (&b)[2]) {
  double upper[2] = {d[0], d[1]}, lower[2] = {d[2], d[3]};
  for (int k = 0; k < 2; ++k) {
    multiply_add(upper, a[2 * k], b[k]);
    multiply_add(lower, a[2 * k + 1], b[k]);
  }
  d[0] = upper[0], d[1] = upper[1], d[2] = lower[0], d[3] = lower[1];
}
inline double inverse_root(double x) { return 1 / std::sqrt(x); }
inline double quotient(double y, double x) { return y / x; }
inline std::uint32_t pack_bf16(float first, float second) {
  return emulated::to_bf16(second) << 16 | emulated::to_bf16(first);
}
template <class T>
T* pinned(T* pointer) {
  return pointer;
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_PRIMITIVES_CUH
