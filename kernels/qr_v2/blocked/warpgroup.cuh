// What Hopper alone has (sm_90a): products of four warps whose right operand the tensor cores read
// from shared memory themselves, and copies of whole rows that tell a message when they are there.
//
// Like primitives.cuh it knows no matrix. Compiled for anything else there is none of it: kernels
// that use it are then empty and allow no more than 32 threads, by which a plan knows.
#ifndef KBENCH_QR_BLOCKED_WARPGROUP_CUH
#define KBENCH_QR_BLOCKED_WARPGROUP_CUH

#include "primitives.cuh"

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define KBENCH_QR_WARPGROUPS 1
#else
#define KBENCH_QR_WARPGROUPS 0
#endif

namespace blocked {

constexpr int k_group_warps = 4;

#if KBENCH_QR_WARPGROUPS

/// True in one thread of the warp.
__device__ __forceinline__ bool elected() {
  std::uint32_t own;
  asm volatile("{\n.reg .pred own;\nelect.sync _|own, 0xffffffff;\nselp.u32 %0, 1, 0, own;\n}"
               : "=r"(own));
  return own != 0;
}

/// Tells, and that `bytes` will be copied besides: only then is it told.
__device__ __forceinline__ void tell_with_bytes(Message& message, unsigned bytes) {
  asm volatile(
      "{\n.reg .b64 state;\nmbarrier.arrive.expect_tx.shared.b64 state, [%0], %1;\n}" ::"r"(
          shared_address(&message)),
      "r"(bytes)
      : "memory");
}
/// Copies from global to shared memory; both addresses and `bytes` are multiples of 16.
__device__ __forceinline__ void copy_bulk(void* to, const void* from, unsigned bytes,
                                          Message& message) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(&message))
      : "memory");
}
/// What this thread has written to shared memory, and read from it, comes before bulk copies into
/// it and products from it that follow the next barrier.
__device__ __forceinline__ void fence_shared() {
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
}

/// A right operand in shared memory, in tiles of 8 rows of 128 bytes (the 128-byte swizzle: of an
/// address its bits 4 to 6 are exchanged by its bits 7 to 9), the next tile `step` bytes behind.
using RightOperand = std::uint64_t;
__device__ __forceinline__ RightOperand right_operand(const void* start, int step) {
  constexpr std::uint64_t swizzle = std::uint64_t{1} << 62;
  return swizzle | static_cast<std::uint64_t>(step / 16) << 32 | std::uint64_t{1} << 16 |
         (shared_address(start) & 0x3ffffu) >> 4;
}
/// The same, `bytes` further, a multiple of 16.
__device__ __forceinline__ RightOperand moved(RightOperand operand, int bytes) {
  return operand + static_cast<std::uint64_t>(bytes / 16);
}

/// Products are asynchronous: their registers are not touched from begin_products() to the end of
/// wait_products(), and settle() keeps the compiler from it.
__device__ __forceinline__ void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}
template <int N>
__device__ __forceinline__ void settle(float (&d)[N]) {
#pragma unroll
  for (int k = 0; k < N; ++k) asm volatile("" : "+f"(d[k])::"memory");
}
template <int N>
__device__ __forceinline__ void settle(std::uint32_t (&a)[N]) {
#pragma unroll
  for (int k = 0; k < N; ++k) asm volatile("" : "+r"(a[k])::"memory");
}

/// d += a b for a 64x16 BF16 tile a, of which each warp brings 16 rows as for multiply_add(), and a
/// 16x64 BF16 tile b whose rows lie in two tiles one behind the other (m64n64k16). A lane's d: for
/// the k-th eight columns at [4 k] as multiply_add() has it.
__device__ __forceinline__ void multiply_rows(float (&d)[32], const std::uint32_t (&a)[4],
                                              RightOperand b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
      "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, {%32, %33, %34, %35}, %36, 1, "
      "1, 1, 1;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

/// d += a b^T for such a tile a and a 32x16 BF16 tile b: 32 rows, in four tiles (m64n32k16).
__device__ __forceinline__ void multiply_columns(float (&d)[16], const std::uint32_t (&a)[4],
                                                 RightOperand b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, "
      "%19}, %20, 1, 1, 1, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

#endif  // KBENCH_QR_WARPGROUPS

}  // namespace blocked

#endif  // KBENCH_QR_BLOCKED_WARPGROUP_CUH
