// Q = H_1 ... H_n from geqrf's compact form, in FP32, for all matrices at once: backward over
// blocks of 64 reflectors, each applied as I - V T V^T to the trailing corner that is not yet the
// identity (4/3 n^3 flops a matrix). Bischof and Van Loan, The WY representation; LAPACK's larft
// and larfb.
#include <algorithm>

#include "device/cuda/cuda_error.h"
#include "device/cuda/cuda_ops.h"
#include "device/cuda/launches.h"

namespace kbench::cuda {
namespace {

// The temporaries of one slice of the batch stay below this, or hold one matrix.
constexpr std::int64_t k_scratch_bytes = std::int64_t{512} << 20;
// Vendor batch counts are 32-bit and end on a grid dimension.
constexpr std::int64_t k_most_in_one_call = 32768;

struct Scratch {
  float *v, *w, *scaled_w, *gram, *t;
};

std::int64_t matrices_of_slice(std::int64_t batch, std::int64_t n) {
  constexpr std::int64_t k_block = k_panel_width * k_panel_width;
  const std::int64_t floats = 3 * n * k_panel_width + (panel_chunks(n) + 1) * k_block;
  const std::int64_t fitting = k_scratch_bytes / (floats * std::int64_t{sizeof(float)});
  return std::clamp<std::int64_t>(std::min(fitting, k_most_in_one_call), 1, batch);
}

// X <- X - ((X V) T^T) V^T on the trailing corner. X is the transpose of Q: a row-major Q is the
// column-major X at the same addresses.
void apply_block(cublasHandle_t handle, const Panel& panel, const Scratch& scratch, float* q) {
  const float one = 1, zero = 0, minus_one = -1;
  const int n = static_cast<int>(panel.n), m = static_cast<int>(panel.n - panel.first);
  const int width = static_cast<int>(panel.width), batch = static_cast<int>(panel.batch);
  const int ld_t = static_cast<int>(k_panel_width);
  const long long of_q = panel.n * panel.n, of_v = std::int64_t{m} * width;
  const long long of_t = k_panel_width * k_panel_width;
  float* corner = q + panel.first * panel.n + panel.first;
  check(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, width, m, &one, corner, n,
                                  of_q, scratch.v, m, of_v, &zero, scratch.w, m, of_v, batch),
        "form_q: Q^T V");
  check(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, width, width, &one,
                                  scratch.w, m, of_v, scratch.t, ld_t, of_t, &zero,
                                  scratch.scaled_w, m, of_v, batch),
        "form_q: W T^T");
  check(cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, m, width, &minus_one,
                                  scratch.scaled_w, m, of_v, scratch.v, m, of_v, &one, corner, n,
                                  of_q, batch),
        "form_q: Q - V W");
}

}  // namespace

void CudaOps::form_q(const float* h, Layout layout, const float* tau, std::int64_t batch,
                     std::int64_t n, float* q) {
  if (batch <= 0 || n <= 0) return;
  const std::int64_t slice = matrices_of_slice(batch, n), panel_floats = slice * n * k_panel_width;
  const std::int64_t block_floats = slice * k_panel_width * k_panel_width;
  const Scratch scratch{arena_.take<float>(Slot::panel, panel_floats),
                        arena_.take<float>(Slot::product, panel_floats),
                        arena_.take<float>(Slot::scaled_product, panel_floats),
                        arena_.take<float>(Slot::gram, panel_chunks(n) * block_floats),
                        arena_.take<float>(Slot::t_factor, block_floats)};
  set_diagonal(q, batch, n, Vectors{});
  for (std::int64_t b = 0; b < batch; b += slice) {
    const std::int64_t count = std::min(slice, batch - b);
    for (std::int64_t first = (n - 1) / k_panel_width * k_panel_width; first >= 0;
         first -= k_panel_width) {
      const std::int64_t width = std::min(k_panel_width, n - first);
      const Panel panel{h + b * n * n, layout, tau + b * n, count, n, first, width};
      check(launch_panel(stream_, panel, scratch.v, scratch.gram), "form_q: panel");
      check(launch_t_factor(stream_, panel, scratch.gram, scratch.t), "form_q: T");
      apply_block(libraries_.cublas(), panel, scratch, q + b * n * n);
    }
  }
}

}  // namespace kbench::cuda
