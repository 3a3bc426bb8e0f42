// The machine instructions that the tridiagonal eigensolver's kernels are written in: indices,
// barriers, shuffles, shared memory of a cluster, fragment loads and the FP16 tensor-core product.
//
// Knows no matrix and no algorithm, and the kernels use nothing of the machine but this file, so
// that they run on a host where another file takes its place. Clusters exist from sm_90 on; below
// it the cluster functions trap and are never reached.
#ifndef KBENCH_EIGH_TRIDIAGONAL_PRIMITIVES_CUH
#define KBENCH_EIGH_TRIDIAGONAL_PRIMITIVES_CUH

#include <cuda_runtime.h>

#include <cstdint>

namespace tridiagonal {

constexpr unsigned k_full_warp = 0xffffffffu;

__device__ __forceinline__ int thread_index() { return static_cast<int>(threadIdx.x); }
__device__ __forceinline__ std::int64_t block_index() { return blockIdx.x; }

/// The dynamic shared memory of the block.
__device__ __forceinline__ unsigned char* shared_memory() {
  extern __shared__ __align__(16) unsigned char k_dynamic_shared[];
  return k_dynamic_shared;
}

__device__ __forceinline__ void block_barrier() { __syncthreads(); }
__device__ __forceinline__ void warp_barrier() { __syncwarp(); }

template <class T>
__device__ __forceinline__ T shuffle_xor(T value, int mask) {
  return __shfl_xor_sync(k_full_warp, value, mask);
}

__device__ __forceinline__ unsigned bits_of(float x) { return __float_as_uint(x); }
__device__ __forceinline__ float float_of(unsigned bits) { return __uint_as_float(bits); }

/// Adds one to a counter that other thread blocks count with as well.
__device__ __forceinline__ void count_one(unsigned* counter) { atomicAdd(counter, 1u); }

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
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

__device__ __forceinline__ void store_twin(float4* local, int rank, const float4& value) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(twin_address(local, rank)),
               "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w)
               : "memory");
#else
  __trap();
#endif
}

/// 16 bytes from global to shared memory; zeros, without touching `from`, unless `valid`.
__device__ __forceinline__ void copy_async(void* to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(valid ? 16 : 0)
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

/// d += a b for a 16x16 FP16 tile a, a 16x8 FP16 tile b and a 16x8 FP32 tile d (m16n8k16).
__device__ __forceinline__ void multiply_add(float (&d)[4], const std::uint32_t (&a)[4],
                                             std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Two FP16 in one word, `first` in the low half, rounded to nearest.
__device__ __forceinline__ std::uint32_t pack_halves(float first, float second) {
  std::uint32_t packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(second), "f"(first));
  return packed;
}
struct TwoFloats {
  float first, second;
};
__device__ __forceinline__ TwoFloats unpack_halves(std::uint32_t packed) {
  TwoFloats two;
  asm("{\n"
      ".reg .f16 low, high;\n"
      "mov.b32 {low, high}, %2;\n"
      "cvt.f32.f16 %0, low;\n"
      "cvt.f32.f16 %1, high;\n"
      "}"
      : "=f"(two.first), "=f"(two.second)
      : "r"(packed));
  return two;
}

}  // namespace tridiagonal

#endif  // KBENCH_EIGH_TRIDIAGONAL_PRIMITIVES_CUH
