// The operations of ops.h on the host. Contracts and layouts are those of Ops.
#pragma once

#include "device/ops.h"

namespace kbench::host {

/// Stateless: temporaries are small, per thread and per call (one LAPACK workspace of about 64 n
/// floats, or 2 n doubles).
class HostOps : public Ops {
 public:
  void normal(std::uint64_t seed, std::uint64_t offset, std::int64_t count, float* out) override;
  void uniform(std::uint64_t seed, std::uint64_t offset, std::int64_t count, float* out) override;
  std::vector<float> linspace(float start, float end, std::int64_t n) override;
  std::vector<float> logspace(float start, float end, std::int64_t n) override;

  void scale(float* a, std::int64_t batch, std::int64_t n, Vectors row, Vectors col) override;
  void scale_all(float* a, std::int64_t count, float factor) override;
  void add_diagonal(float* a, std::int64_t batch, std::int64_t n, Vectors diagonal) override;
  void set_diagonal(float* out, std::int64_t batch, std::int64_t n, Vectors diagonal) override;
  void keep_upper(float* a, std::int64_t batch, std::int64_t n) override;
  void keep_band(float* a, std::int64_t batch, std::int64_t n, const std::int64_t* widths) override;
  void zero_columns(float* a, std::int64_t batch, std::int64_t n, std::int64_t first) override;
  void repeat_columns(float* a, std::int64_t batch, std::int64_t n, std::int64_t first,
                      const float* noise, float factor) override;
  void near_columns(float* out, std::int64_t batch, std::int64_t n, const float* base,
                    const float* noise, float factor) override;
  void symmetrize(float* a, std::int64_t batch, std::int64_t n) override;
  void gather(const float* in, const std::int64_t* index, std::int64_t batch, std::int64_t n,
              float* out) override;
  void scatter(const float* in, const std::int64_t* index, std::int64_t batch, std::int64_t n,
               float* out) override;
  void rearrange(const float* in, std::int64_t batch, std::int64_t n, const std::int32_t* order,
                 Vectors row, Vectors col, float* out) override;
  void transpose(const float* in, std::int64_t batch, std::int64_t n, float* out) override;

  void geqrf(float* a, std::int64_t batch, std::int64_t n, float* tau) override;
  void form_q(const float* h, Layout layout, const float* tau, std::int64_t batch, std::int64_t n,
              float* q) override;
  void diagonal_signs(const float* h, std::int64_t batch, std::int64_t n, float* signs) override;
  void multiply(const float* a, Transpose ta, const float* b, Transpose tb, std::int64_t batch,
                std::int64_t n, float* c) override;
  void multiply(const double* a, Transpose ta, const double* b, Transpose tb, std::int64_t batch,
                std::int64_t n, double* c) override;

  void widen(const float* in, Layout layout, Vectors column_scale, std::int64_t batch,
             std::int64_t n, double* out) override;
  std::vector<double> residual_norm1(const double* p, Part part, Subtrahend subtrahend,
                                     std::int64_t batch, std::int64_t n) override;
  std::int64_t first_non_finite(const float* data, std::int64_t count) override;
};

}  // namespace kbench::host
