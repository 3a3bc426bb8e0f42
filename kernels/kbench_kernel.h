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
 *   free     no inputs and outputs: the integers of the case line; the plug-in allocates in
 * `create` what it needs, and nothing is checked
 */
#ifndef KBENCH_KERNEL_H
#define KBENCH_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KBENCH_ABI_VERSION 2u

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

/* One `key: value` of a case line. */
typedef struct kbench_parameter {
  const char* name;
  int64_t value;
} kbench_parameter;

/* What one call moves and computes, for the throughput columns; 0: not said. */
typedef struct kbench_work {
  double bytes;
  double flops;
} kbench_work;

/* One call. Outputs are owned by kbench and hold NaN before each timed repeat. */
typedef struct kbench_call {
  const kbench_tensor* inputs;
  const kbench_tensor* outputs;
  int32_t input_count;
  int32_t output_count;
  void* stream;    /* cudaStream_t; null on the host */
  void* workspace; /* 256-byte aligned, shared by all calls, overwritten before each repeat */
  uint64_t workspace_bytes;
  char* error; /* where to leave a message on failure, NUL-terminated */
  uint32_t error_size;
  int32_t parameter_count;            /* `free` alone */
  const kbench_parameter* parameters; /* in the line's order; valid during `create` */
  kbench_work* work;                  /* in `create` of `free`, for it to fill in; else null */
} kbench_call;

/* The integer of that name, or `otherwise` when the case line has none. */
static inline int64_t kbench_parameter_or(const kbench_call* call, const char* name,
                                          int64_t otherwise) {
  int32_t i;
  for (i = 0; i < call->parameter_count; ++i) {
    const char *a = call->parameters[i].name, *b = name;
    while (*a != '\0' && *a == *b) {
      ++a;
      ++b;
    }
    if (*a == *b) return call->parameters[i].value;
  }
  return otherwise;
}

/* Functions return 0 on success; otherwise the call has failed and `error` may say why.
 * All of them are called from one thread, and for one shape at a time: create ... destroy. */
typedef struct kbench_kernel {
  uint32_t abi_version; /* KBENCH_ABI_VERSION */
  const char* name;
  const char* problem;
  const char* description; /* one line, may be null */
  int32_t device;          /* kbench_device */
  int32_t output_layout;   /* kbench_layout of matrix outputs */
  uint32_t flags;          /* kbench_flags */

  /* Optional, untimed: sees shapes and never data (every `data` is null, stream is valid). */
  int (*create)(const kbench_call* shapes, void** state);
  /* Optional, untimed: bytes of workspace that one call needs. */
  uint64_t (*workspace_bytes)(void* state);
  /* Optional, untimed, once per shape: the address tuples of all calls, which then stay fixed
   * (graphs, tensor maps, pointer arrays). Inputs hold NaN. */
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

/* The simple form: a file that only defines a function
 *
 *   int custom_kernel(const float* a, float* matrix, float* vector, int64_t batch, int64_t n,
 *                     void* stream)                                  (or void; cudaStream_t stream)
 *
 * and has, BELOW it, one line that makes the descriptor:
 *
 *   KBENCH_SIMPLE_KERNEL(qr_v2, KBENCH_CUDA, KBENCH_COLUMN_MAJOR)
 *
 * `matrix` and `vector` are H and tau of qr_v2, Q and L of eigh_py. An int other than 0 fails the
 * call; void never does. In C this needs C11. The function may have C or C++ linkage and may be
 * static. The kernel is called KBENCH_KERNEL_NAME, which kbench defines from the file's name. */
#ifndef KBENCH_KERNEL_NAME
#define KBENCH_KERNEL_NAME "custom"
#endif

#define KBENCH_SIMPLE_KERNEL(problem, device, output_layout) \
  KBENCH_SIMPLE_KERNEL_WITH(problem, device, output_layout, 0u)

/* The same with kbench_flags, such as KBENCH_SYNCHRONISES_HOST. */
#define KBENCH_SIMPLE_KERNEL_WITH(problem, device, output_layout, flags)         \
  static int kbench_simple_call(void* state, const kbench_call* call) {          \
    (void)state;                                                                 \
    return KBENCH_SIMPLE_RESULT(call);                                           \
  }                                                                              \
  KBENCH_EXTERN_C KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = { \
      KBENCH_ABI_VERSION,                                                        \
      KBENCH_KERNEL_NAME,                                                        \
      #problem,                                                                  \
      "simple form",                                                             \
      (device),                                                                  \
      (output_layout),                                                           \
      (flags),                                                                   \
      0,                                                                         \
      0,                                                                         \
      0,                                                                         \
      kbench_simple_call,                                                        \
      0,                                                                         \
      0};

#ifdef __cplusplus
#define KBENCH_EXTERN_C extern "C"
#define KBENCH_SIMPLE_RESULT(call) kbench_simple_result(custom_kernel, call)

template <class Stream>
inline int kbench_simple_result(int (*kernel)(const float*, float*, float*, int64_t, int64_t,
                                              Stream*),
                                const kbench_call* call) {
  return kernel(static_cast<const float*>(call->inputs[0].data),
                static_cast<float*>(call->outputs[0].data),
                static_cast<float*>(call->outputs[1].data), call->inputs[0].size[0],
                call->inputs[0].size[1], static_cast<Stream*>(call->stream));
}

template <class Stream>
inline int kbench_simple_result(void (*kernel)(const float*, float*, float*, int64_t, int64_t,
                                               Stream*),
                                const kbench_call* call) {
  kernel(static_cast<const float*>(call->inputs[0].data),
         static_cast<float*>(call->outputs[0].data), static_cast<float*>(call->outputs[1].data),
         call->inputs[0].size[0], call->inputs[0].size[1], static_cast<Stream*>(call->stream));
  return 0;
}
#else
#define KBENCH_EXTERN_C
#define KBENCH_SIMPLE_ARGUMENTS(call)                                                     \
  ((const float*)(call)->inputs[0].data, (float*)(call)->outputs[0].data,                 \
   (float*)(call)->outputs[1].data, (call)->inputs[0].size[0], (call)->inputs[0].size[1], \
   (call)->stream)
#define KBENCH_SIMPLE_RESULT(call)                                                        \
  _Generic(&custom_kernel, int (*)(const float*, float*, float*, int64_t, int64_t, void*) \
           : custom_kernel KBENCH_SIMPLE_ARGUMENTS(call),                                 \
             void (*)(const float*, float*, float*, int64_t, int64_t, void*)              \
           : (custom_kernel KBENCH_SIMPLE_ARGUMENTS(call), 0))
#endif

#endif /* KBENCH_KERNEL_H */
