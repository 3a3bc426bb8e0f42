// The machine instructions the blocked QR kernels are written in: barriers, shared memory of a
// cluster, asynchronous copies, fragment loads and the BF16 tensor-core product.
//
// Knows no matrix and no algorithm, so that the algorithm can be read (and run on a host) without
// PTX. Clusters exist from sm_90 on; below it the cluster functions trap and are never reached.
#ifndef KBENCH_QR_BLOCKED_PRIMITIVES_CUH
#define KBENCH_QR_BLOCKED_PRIMITIVES_CUH

#include <cuda_runtime.h>

#include <cstdint>

namespace blocked {

constexpr unsigned k_full_warp = 0xffffffffu;

/// The dynamic shared memory of the block, seen as T.
template <class T>
__device__ __forceinline__ T& shared_as() {
  extern __shared__ __align__(1024) unsigned char k_dynamic_shared[];
  return *reinterpret_cast<T*>(k_dynamic_shared);
}

__device__ __forceinline__ void block_barrier() { __syncthreads(); }
__device__ __forceinline__ void warp_barrier() { __syncwarp(); }
/// Warps of a block, `threads` threads in all, that meet at barrier `id`, 1 to 15.
__device__ __forceinline__ void part_barrier(int id, int threads) {
  __syncwarp();  // the aligned form wants the warp converged
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
/// A block barrier that tells every thread whether any of them brought `claim`.
__device__ __forceinline__ bool block_any(bool claim) { return __syncthreads_or(claim) != 0; }

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// What some threads tell others of their block, again and again: an mbarrier in shared memory.
/// Where a warp tells, every lane does, because compute-sanitizer does not see that what one lane
/// says holds for its warp.
using Message = std::uint64_t;
/// By one thread; a block barrier must follow. It is told once when `tellers` threads have told it.
__device__ __forceinline__ void prepare_message(Message& message, int tellers) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(&message)), "r"(tellers)
               : "memory");
}
/// By each of its tellers, which go on at once.
__device__ __forceinline__ void tell(Message& message) {
  asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(
                   shared_address(&message))
               : "memory");
}
/// Until it was told more than `turn` times, and at most once more; sees what was written before.
__device__ __forceinline__ void wait_until_told(Message& message, int turn) {
  std::uint32_t told = 0;
  while (told == 0) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define KBENCH_MBARRIER_WAIT "mbarrier.try_wait.parity.shared.b64 told, [%1], %2;\n"
#else
#define KBENCH_MBARRIER_WAIT "mbarrier.test_wait.parity.shared.b64 told, [%1], %2;\n"
#endif
    asm volatile("{\n.reg .pred told;\n" KBENCH_MBARRIER_WAIT "selp.u32 %0, 1, 0, told;\n}"
                 : "=r"(told)
                 : "r"(shared_address(&message)), "r"(turn & 1)
                 : "memory");
#undef KBENCH_MBARRIER_WAIT
  }
}

/// All threads of all blocks of the cluster; orders their shared-memory accesses.
__device__ __forceinline__ void cluster_barrier() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __syncwarp();  // the aligned form wants the warp converged
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
#else
  __trap();
#endif
}

__device__ __forceinline__ int cluster_rank() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  std::uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return static_cast<int>(rank);
#else
  return 0;
#endif
}

/// Address, in the cluster's window, of block `rank`'s twin of a shared variable of this block.
__device__ __forceinline__ std::uint32_t twin_address(const void* local, int rank) {
  std::uint32_t address = 0;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(address)
               : "r"(shared_address(local)), "r"(rank));
#else
  __trap();
#endif
  return address;
}

__device__ __forceinline__ void store_twin(float* local, int rank, float value) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(twin_address(local, rank)), "f"(value)
               : "memory");
#else
  __trap();
#endif
}

__device__ __forceinline__ float load_twin(const float* local, int rank) {
  float value = 0;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("ld.shared::cluster.f32 %0, [%1];"
               : "=f"(value)
               : "r"(twin_address(local, rank))
               : "memory");
#else
  __trap();
#endif
  return value;
}

__device__ __forceinline__ void store_twin(double* local, int rank, double value) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("st.shared::cluster.f64 [%0], %1;" ::"r"(twin_address(local, rank)), "d"(value)
               : "memory");
#else
  __trap();
#endif
}

__device__ __forceinline__ double load_twin(const double* local, int rank) {
  double value = 0;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("ld.shared::cluster.f64 %0, [%1];"
               : "=d"(value)
               : "r"(twin_address(local, rank))
               : "memory");
#else
  __trap();
#endif
  return value;
}

/// From the L2 cache: the L1 cache may hold what another block has replaced since.
template <class T>
__device__ __forceinline__ T load_past_l1(const T* from) {
  return __ldcg(from);
}

/// 16 bytes from global to shared memory; zeros, without touching `from`, unless `valid`.
__device__ __forceinline__ void copy_async(void* to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(valid ? 16 : 0)
               : "memory");
}
/// The same for 4 bytes.
__device__ __forceinline__ void copy_async_word(void* to, const void* from, bool valid) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(valid ? 4 : 0)
               : "memory");
}
__device__ __forceinline__ void copy_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most `Pending` of this thread's latest groups are still under way.
template <int Pending>
__device__ __forceinline__ void copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

/// Four 8x8 tiles of 16-bit elements; lane l names row l % 8 of tile l / 8 (16-byte aligned).
/// Lane l receives elements (l / 4, 2 (l % 4) + {0, 1}) of each tile.
__device__ __forceinline__ void load_tiles(std::uint32_t (&tile)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(tile[0]), "=r"(tile[1]), "=r"(tile[2]), "=r"(tile[3])
               : "r"(shared_address(row))
               : "memory");
}
/// The same tiles transposed: lane l receives elements (2 (l % 4) + {0, 1}, l / 4).
__device__ __forceinline__ void load_tiles_transposed(std::uint32_t (&tile)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(tile[0]), "=r"(tile[1]), "=r"(tile[2]), "=r"(tile[3])
               : "r"(shared_address(row))
               : "memory");
}

/// d += a b for a 16x16 BF16 tile a, a 16x8 BF16 tile b and a 16x8 FP32 tile d (m16n8k16).
__device__ __forceinline__ void multiply_add(float (&d)[4], const std::uint32_t (&a)[4],
                                             std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// d += a b for an 8x4 tile a, a 4x8 tile b and an 8x8 tile d in FP64 (m8n8k4). Lane l brings
/// a(l / 4, l % 4) and b(l % 4, l / 4) and holds d(l / 4, 2 (l % 4) + {0, 1}).
__device__ __forceinline__ void multiply_add(double (&d)[2], double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(d[0]), "+d"(d[1])
      : "d"(a), "d"(b));
}

/// The same for a 16x8 tile a, an 8x8 tile b and a 16x8 tile d (m16n8k8), at twice the rate where
/// the hardware has it. Lane l brings a(l / 4 + 8 (k % 2), l % 4 + 4 (k / 2)) and b(l % 4 + 4 k,
/// l / 4) and holds d(l / 4 + 8 (k / 2), 2 (l % 4) + k % 2) at [k].
__device__ __forceinline__ void multiply_add(double (&d)[4], const double (&a)[4],
                                             const double (&b)[2]) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
  double upper[2] = {d[0], d[1]}, lower[2] = {d[2], d[3]};
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    multiply_add(upper, a[2 * k], b[k]);
    multiply_add(lower, a[2 * k + 1], b[k]);
  }
  d[0] = upper[0], d[1] = upper[1], d[2] = lower[0], d[3] = lower[1];
#endif
}

/// 1 / sqrt(x) to nearly full FP64 precision, without a branch for special values: x is 0 (for
/// which the result is not to be used) or at least 2^-1022; NaN below 0 and for infinity.
__device__ __forceinline__ double inverse_root(double x) {
  double y;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  const double error = fma(-(x * y), y, 1.0);
  return fma(fma(error, 0.375, 0.5) * error, y, y);
}
/// y / x likewise, for |x| from 2^-1022 to 2^1022: one operation less behind x than y times 1 / x.
__device__ __forceinline__ double quotient(double y, double x) {
  double start;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(start) : "d"(x));
  const double error = fma(-x, start, 1.0), first = y * start;
  return fma(fma(error, error, error), first, first);
}

/// Two BF16 in one word, `first` in the low half, rounded to nearest.
__device__ __forceinline__ std::uint32_t pack_bf16(float first, float second) {
  std::uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(second), "f"(first));
  return packed;
}

/// The same pointer to shared memory, in one register from here on: the compiler cannot see how it
/// was found, and so does not find it again in every turn of a loop.
template <class T>
__device__ __forceinline__ T* pinned(T* pointer) {
  std::uint32_t address = shared_address(pointer);
  asm volatile("" : "+r"(address));
  return static_cast<T*>(__cvta_shared_to_generic(address));
}

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_PRIMITIVES_CUH
