// eigh_py on CUDA: Householder tridiagonalisation on chip, FP64 bisection and twisted
// factorisations, back-transformation on the tensor cores as three FP16 products.
// docs/kernels/eigh_py.md explains the design; precise.cu is the same in FP32 throughout.
//
// To try another spread of a matrix over thread blocks, set KBENCH_TRIDIAGONAL_RANKS=1|2|4|8|16; a
// matrix of at most 32 rows is one warp's all the same.
#include "kbench_kernel.h"
#include "tridiagonal/plugin.cuh"

namespace {

int create(const kbench_call* shapes, void** state) {
  return tridiagonal::create(shapes, state, tridiagonal::Products::half_pairs);
}

}  // namespace

extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {
    KBENCH_ABI_VERSION,
    "tridiagonal",
    "eigh_py",
    "Householder reduction on chip, FP64 bisection and twisted factorisations, FP16x3 tensor-core "
    "back-transformation; environment: KBENCH_TRIDIAGONAL_RANKS=1|2|4|8|16",
    KBENCH_CUDA,
    KBENCH_ROW_MAJOR,
    0,
    create,
    tridiagonal::workspace_bytes,
    tridiagonal::prepare,
    tridiagonal::custom_kernel,
    tridiagonal::report,
    tridiagonal::destroy};
