// eigh_py on CUDA with nothing below FP32: the kernel `tridiagonal` (tridiagonal.cu) with a
// back-transformation of FP32 products. Reduction and tridiagonal solver are the same, so are the
// eigenvalues, bit for bit; the eigenvectors keep the digits that FP16 pairs lose.
// docs/kernels/eigh_py.md explains the design.
#include "kbench_kernel.h"
#include "tridiagonal/plugin.cuh"

namespace {

int create(const kbench_call* shapes, void** state) {
  return tridiagonal::create(shapes, state, tridiagonal::Products::full);
}

}  // namespace

extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {
    KBENCH_ABI_VERSION,
    "precise",
    "eigh_py",
    "as `tridiagonal`, with FP32 products in the back-transformation; environment: "
    "KBENCH_TRIDIAGONAL_RANKS=1|2|4|8|16",
    KBENCH_CUDA,
    KBENCH_ROW_MAJOR,
    0,
    create,
    tridiagonal::workspace_bytes,
    tridiagonal::prepare,
    tridiagonal::custom_kernel,
    tridiagonal::report,
    tridiagonal::destroy};
