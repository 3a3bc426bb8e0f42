// The kernels of the CUDA device, as functions that launch them on a stream.
//
// Shapes and meaning are those of device/ops.h. Every function enqueues and returns the launch's
// status; an empty problem launches nothing. Matrices are [batch, n, n]; the batch lies on grid.x
// with a grid-stride loop, so that no size meets a grid limit.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "device/ops.h"

namespace kbench::cuda {

// draws.cu: `first_call` is the generator's offset / 4; `count` at most 2^29, one torch launch.
cudaError_t launch_normal(cudaStream_t stream, std::uint64_t seed, std::uint64_t first_call,
                          std::int64_t count, float* out);
cudaError_t launch_uniform(cudaStream_t stream, std::uint64_t seed, std::uint64_t first_call,
                           std::int64_t count, float* out);
/// n >= 2 points from start to end; `powers`: 10 to these powers.
cudaError_t launch_range(cudaStream_t stream, float start, float end, std::int64_t n, bool powers,
                         float* out);

// entries.cu
cudaError_t launch_scale(cudaStream_t stream, float* a, std::int64_t batch, std::int64_t n,
                         Vectors row, Vectors col);
cudaError_t launch_scale_all(cudaStream_t stream, float* a, std::int64_t count, float factor);
cudaError_t launch_add_diagonal(cudaStream_t stream, float* a, std::int64_t batch, std::int64_t n,
                                Vectors diagonal);
cudaError_t launch_set_diagonal(cudaStream_t stream, float* out, std::int64_t batch, std::int64_t n,
                                Vectors diagonal);
cudaError_t launch_keep_upper(cudaStream_t stream, float* a, std::int64_t batch, std::int64_t n);
cudaError_t launch_keep_band(cudaStream_t stream, float* a, std::int64_t batch, std::int64_t n,
                             const std::int64_t* widths);
cudaError_t launch_near_columns(cudaStream_t stream, float* out, std::int64_t batch, std::int64_t n,
                                const float* base, const float* noise, float factor);
cudaError_t launch_widen_rows(cudaStream_t stream, const float* in, Vectors column_scale,
                              std::int64_t batch, std::int64_t n, double* out);

// columns.cu
cudaError_t launch_zero_columns(cudaStream_t stream, float* a, std::int64_t batch, std::int64_t n,
                                std::int64_t first);
cudaError_t launch_repeat_columns(cudaStream_t stream, float* a, std::int64_t batch, std::int64_t n,
                                  std::int64_t first, const float* noise, float factor);
/// `to_index`: scatter, else gather.
cudaError_t launch_copy_matrices(cudaStream_t stream, const float* in, const std::int64_t* index,
                                 bool to_index, std::int64_t batch, std::int64_t n, float* out);
/// `order` [batch, n] places, or null.
cudaError_t launch_rearrange(cudaStream_t stream, const float* in, std::int64_t batch,
                             std::int64_t n, const std::int32_t* order, Vectors row, Vectors col,
                             float* out);
cudaError_t launch_diagonal_signs(cudaStream_t stream, const float* h, std::int64_t batch,
                                  std::int64_t n, float* signs);
/// pointers[b] = base + b * stride.
cudaError_t launch_pointers(cudaStream_t stream, float* base, std::int64_t stride,
                            std::int64_t batch, float** pointers);

// tiles.cu
cudaError_t launch_symmetrize(cudaStream_t stream, float* a, std::int64_t batch, std::int64_t n);
cudaError_t launch_transpose(cudaStream_t stream, const float* in, std::int64_t batch,
                             std::int64_t n, float* out);
cudaError_t launch_widen_columns(cudaStream_t stream, const float* in, Vectors column_scale,
                                 std::int64_t batch, std::int64_t n, double* out);

// residuals.cu
/// Parts that the rows are cut into, so that few large matrices fill the device too.
std::int64_t column_sum_slabs(std::int64_t batch, std::int64_t n);
/// partial [batch, slabs, n]: sums of absolute values down the rows of each slab.
cudaError_t launch_column_sums(cudaStream_t stream, const double* p, Part part,
                               const Subtrahend& subtrahend, std::int64_t batch, std::int64_t n,
                               double* partial);
/// out[b] = largest of the n column sums, NaN when one is NaN.
cudaError_t launch_largest_column(cudaStream_t stream, const double* partial, std::int64_t batch,
                                  std::int64_t n, double* out);

// scans.cu: `*found` must hold k_nothing_found before and holds the answer after.
constexpr std::uint64_t k_nothing_found = ~std::uint64_t{0};
cudaError_t launch_holds_only(cudaStream_t stream, const void* data, std::uint8_t byte,
                              std::int64_t bytes, std::uint64_t* found);
cudaError_t launch_equal(cudaStream_t stream, const void* a, const void* b, std::int64_t bytes,
                         std::uint64_t* found);
/// The smallest index of a value that is NaN or infinite.
cudaError_t launch_first_non_finite(cudaStream_t stream, const float* data, std::int64_t count,
                                    std::uint64_t* found);
/// Reads `bytes`, a multiple of 16, and writes nothing.
cudaError_t launch_read(cudaStream_t stream, const void* data, std::int64_t bytes);
/// One thread that does nothing.
cudaError_t launch_nothing(cudaStream_t stream);
/// Asks for a kernel's attributes: fails when the program holds no code for this GPU.
cudaError_t probe_kernel_image();

// holds.cu
/// In the host's memory, for hold and host to talk.
struct HoldWords {
  std::uint32_t opened = 0;   ///< highest ticket that may pass
  std::uint32_t expired = 0;  ///< ticket of the last hold that ended by its limit
  std::uint32_t left = 0;     ///< ticket of the last hold that ended, for whatever reason
};
/// Keeps the stream until `words->opened` reaches `ticket`, at most `limit_ns`.
cudaError_t launch_hold(cudaStream_t stream, HoldWords* words, std::uint32_t ticket,
                        std::uint64_t limit_ns);
/// Keeps the stream for `ns`.
cudaError_t launch_wait(cudaStream_t stream, std::uint64_t ns);

// compact_wy.cu
constexpr std::int64_t k_panel_width = 64;
/// Row chunks that the Gram matrix of a panel of `rows` rows is summed in.
std::int64_t panel_chunks(std::int64_t rows);

/// Columns first .. first + width - 1 of geqrf's compact form, rows from `first` on.
struct Panel {
  const float* h = nullptr;
  Layout layout = Layout::row_major;
  const float* tau = nullptr;  ///< [batch, n]
  std::int64_t batch = 0, n = 0, first = 0, width = 0;
};
/// v [batch, width, rows]: the reflectors, column-major, with ones and zeros written out.
/// gram [batch, chunks, 64, 64]: partial sums of V^T V.
cudaError_t launch_panel(cudaStream_t stream, const Panel& panel, float* v, float* gram);
/// t [batch, 64, 64]: T of I - V T V^T, column-major, upper triangular, padded with zeros.
cudaError_t launch_t_factor(cudaStream_t stream, const Panel& panel, const float* gram, float* t);

}  // namespace kbench::cuda
