// The array operations that generators and checkers are written in.
//
// Every matrix operation works on `batch` square n x n matrices stored one after the other,
// row-major unless a Layout says otherwise. Arithmetic is FP32 with one rounding per operation (no
// contraction across the operations named here) unless the element type is double. Pointers are
// device pointers. Work is enqueued; functions that return values wait. batch may exceed 65535 and
// batch * n * n may exceed 2^31. Temporaries come from the device and are kept from call to call.
#pragma once

#include <cstdint>
#include <vector>

namespace kbench {

enum class Layout { row_major, column_major };
enum class Transpose { no, yes };
/// Which entries of a matrix take part; the others count as zero.
enum class Part { all, upper, strict_lower, off_diagonal };

/// One value per row or column, `stride` apart from matrix to matrix (0: the same for all).
/// A null `data` means: all ones, no multiplication at all.
struct Vectors {
  const float* data = nullptr;
  std::int64_t stride = 0;
};

/// What residual_norm1 subtracts from P: part(Y) diag(s) and `identity` times I. Null y: nothing.
struct Subtrahend {
  const float* y = nullptr;
  Layout layout = Layout::row_major;
  Part part = Part::all;
  Vectors column_scale;
  bool identity = false;
};

class Ops {
 public:
  virtual ~Ops() = default;

  // --- draws: torch's CUDA generator with the reference geometry (core/philox.h) ---
  /// Standard normals (Box-Muller as torch.randn on CUDA). Host: within 2^-20 of their radius.
  virtual void normal(std::uint64_t seed, std::uint64_t offset, std::int64_t count, float* out) = 0;
  /// Uniform on [-1, 1), as tensor.uniform_(-1, 1). Exact on every device.
  virtual void uniform(std::uint64_t seed, std::uint64_t offset, std::int64_t count,
                       float* out) = 0;

  // --- ranges, as torch's CUDA linspace and logspace (base 10), returned to the host ---
  virtual std::vector<float> linspace(float start, float end, std::int64_t n) = 0;  ///< exact
  virtual std::vector<float> logspace(float start, float end, std::int64_t n) = 0;

  // --- element-wise, in place unless `out` is named ---
  /// a_ij = (row_i * a_ij) * col_j; a null factor is left out.
  virtual void scale(float* a, std::int64_t batch, std::int64_t n, Vectors row, Vectors col) = 0;
  virtual void scale_all(float* a, std::int64_t count, float factor) = 0;
  virtual void add_diagonal(float* a, std::int64_t batch, std::int64_t n, Vectors diagonal) = 0;
  /// out = diag(v), +0 elsewhere.
  virtual void set_diagonal(float* out, std::int64_t batch, std::int64_t n, Vectors diagonal) = 0;
  /// Strictly lower part = +0.
  virtual void keep_upper(float* a, std::int64_t batch, std::int64_t n) = 0;
  /// a_ij * 0 (the sign stays) where |i - j| > widths[b]; one width per matrix (device pointer).
  virtual void keep_band(float* a, std::int64_t batch, std::int64_t n,
                         const std::int64_t* widths) = 0;
  /// Columns first .. n-1 = +0.
  virtual void zero_columns(float* a, std::int64_t batch, std::int64_t n, std::int64_t first) = 0;
  /// a[:, first + k] = a[:, k] + (factor * noise[:, k]) for k < n - first; noise is [batch, n,
  /// n - first]. Needs n - first <= first.
  virtual void repeat_columns(float* a, std::int64_t batch, std::int64_t n, std::int64_t first,
                              const float* noise, float factor) = 0;
  /// out_ij = base_i + (factor * noise_ij); base [batch, n], noise [batch, n, n] (may be out).
  virtual void near_columns(float* out, std::int64_t batch, std::int64_t n, const float* base,
                            const float* noise, float factor) = 0;
  /// a = 0.5 (a + a^T): sum rounded, halving exact.
  virtual void symmetrize(float* a, std::int64_t batch, std::int64_t n) = 0;
  /// out[b] = in[index[b]] (gather) and out[index[b]] = in[b] (scatter), whole matrices; `index` is
  /// a device pointer to `batch` positions.
  virtual void gather(const float* in, const std::int64_t* index, std::int64_t batch,
                      std::int64_t n, float* out) = 0;
  virtual void scatter(const float* in, const std::int64_t* index, std::int64_t batch,
                       std::int64_t n, float* out) = 0;
  /// out_ij = (row_i * in_kl) * col_j with k = order[b, i] and l = order[b, j], in one pass; not in
  /// place. `order` is a device pointer to [batch, n] places; null: every entry keeps its own.
  /// Exact when row and col hold powers of two with signs and nothing leaves the range of normal
  /// numbers.
  virtual void rearrange(const float* in, std::int64_t batch, std::int64_t n,
                         const std::int32_t* order, Vectors row, Vectors col, float* out) = 0;
  /// out = in^T, matrix by matrix; not in place.
  virtual void transpose(const float* in, std::int64_t batch, std::int64_t n, float* out) = 0;

  // --- dense linear algebra ---
  /// LAPACK geqrf of column-major matrices in place; tau [batch, n].
  virtual void geqrf(float* a, std::int64_t batch, std::int64_t n, float* tau) = 0;
  /// Q = H_1 ... H_n of geqrf's compact form, formed in FP32 (batched compact WY on the reflectors
  /// applied to the identity); h in `layout`, q row-major [batch, n, n]. Not in place.
  virtual void form_q(const float* h, Layout layout, const float* tau, std::int64_t batch,
                      std::int64_t n, float* q) = 0;
  /// signs[b, j] = R_jj > 0 ? 1 : -1 of geqrf's column-major or row-major compact form.
  virtual void diagonal_signs(const float* h, std::int64_t batch, std::int64_t n, float* signs) = 0;
  /// c = op(a) op(b), row-major, FP32 without TF32.
  virtual void multiply(const float* a, Transpose ta, const float* b, Transpose tb,
                        std::int64_t batch, std::int64_t n, float* c) = 0;
  virtual void multiply(const double* a, Transpose ta, const double* b, Transpose tb,
                        std::int64_t batch, std::int64_t n, double* c) = 0;

  // --- residuals in FP64 ---
  /// out (row-major) = (double)in_ij * (double)s_j; `in` in `layout`.
  virtual void widen(const float* in, Layout layout, Vectors column_scale, std::int64_t batch,
                     std::int64_t n, double* out) = 0;
  /// out[b] = largest column sum of |part(P) - part(Y) diag(s) - identity I| of matrix b, returned
  /// to the host; a NaN anywhere in a matrix makes its value NaN. p row-major, may be null (zero).
  virtual std::vector<double> residual_norm1(const double* p, Part part, Subtrahend subtrahend,
                                             std::int64_t batch, std::int64_t n) = 0;
  /// Index of the first value among `count` that is NaN or infinite, or -1. Waits.
  virtual std::int64_t first_non_finite(const float* data, std::int64_t count) = 0;
};

}  // namespace kbench
