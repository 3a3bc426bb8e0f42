/* The kernel ABI of kbench: one C header, one exported descriptor per plug-in.
 *
 * A plug-in is a shared object that defines `kbench_kernel_descriptor`. kbench checks `abi_version`
 * before any call. This header includes nothing of kbench's own and serves C99, C++ and CUDA.
 *
 * Shapes, layouts, in order:
 *   qr_v2    input  A   float32 [batch, n, n], row-major
 *            output H   float32 [batch, n, n], in `output_layout`: LAPACK geqrf compact form
 *            output tau float32 [batch, n]
 *   eigh_py  input  A   float32 [batch, n, n], row-major, symmetric
 *            output Q   float32 [batch, n, n], in `output_layout`: columns are eigenvectors
 *            output L   float32 [batch, n], ascending eigenvalues
 */
#ifndef KBENCH_KERNEL_H
#define KBENCH_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KBENCH_ABI_VERSION 1u

enum kbench_device { KBENCH_HOST = 0, KBENCH_CUDA = 1 };
enum kbench_layout { KBENCH_ROW_MAJOR = 0, KBENCH_COLUMN_MAJOR = 1 }; /* inside each matrix */
enum kbench_dtype { KBENCH_FLOAT32 = 0 };
enum kbench_flags {
  KBENCH_SYNCHRONISES_HOST = 1u /* custom_kernel waits for the device; allowed, and stated */
};

/* A dense array of a batch. Sizes are logical: size[0] is the batch whatever the layout. `data` is
 * a device pointer for CUDA kernels, 256-byte aligned. Inputs are read-only. */
typedef struct kbench_tensor {
  void* data;
  int64_t size[4];
  int32_t rank;
  int32_t dtype;  /* kbench_dtype */
  int32_t layout; /* kbench_layout of the last two dimensions */
} kbench_tensor;

/* One call. Outputs are owned by kbench and hold NaN before each timed repeat. */
typedef struct kbench_call {
  const kbench_tensor* inputs;
  const kbench_tensor* outputs;
  int32_t input_count;
  int32_t output_count;
  void* stream;    /* cudaStream_t; null on the host */
  void* workspace; /* 256-byte aligned, shared by all calls, overwritten before each repeat */
  uint64_t workspace_bytes;
  char* error;     /* where to leave a message on failure, NUL-terminated */
  uint32_t error_size;
} kbench_call;

/* Functions return 0 on success; otherwise the call has failed and `error` may say why.
 * All of them are called from one thread, and for one shape at a time: create ... destroy. */
typedef struct kbench_kernel {
  uint32_t abi_version; /* KBENCH_ABI_VERSION */
  const char* name;
  const char* problem;
  const char* description;   /* one line, may be null */
  int32_t device;            /* kbench_device */
  int32_t output_layout;     /* kbench_layout of matrix outputs */
  uint32_t flags;            /* kbench_flags */

  /* Optional, untimed: sees shapes and never data (every `data` is null, stream is valid). */
  int (*create)(const kbench_call* shapes, void** state);
  /* Optional, untimed: bytes of workspace that one call needs. */
  uint64_t (*workspace_bytes)(void* state);
  /* Optional, untimed, once per shape: the address tuples of all calls, which then stay fixed
   * (graphs, tensor maps, pointer arrays). Contents are undefined. */
  int (*prepare)(void* state, const kbench_call* calls, int32_t count);
  /* Required, timed: enqueues the work on `stream`. Internal streams fork from it and join it. */
  int (*custom_kernel)(void* state, const kbench_call* call);
  /* Optional, untimed, after the last call: one line such as `fallbacks=0`, kept in the results. */
  int (*report)(void* state, char* text, uint32_t size);
  /* Optional: releases what create made. */
  void (*destroy)(void* state);
} kbench_kernel;

#if defined(__GNUC__)
#define KBENCH_EXPORT __attribute__((visibility("default")))
#else
#define KBENCH_EXPORT
#endif

/* The symbol each plug-in defines:
 *   extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {...}; */
extern KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor;

#ifdef __cplusplus
}
#endif

#endif /* KBENCH_KERNEL_H */
