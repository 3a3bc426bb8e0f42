// Matrix families that problems share: the mixed batch, the planted spectrum, bands, and the small
// steps that cases are written in. Values, order of draws and roundings are those of the public
// reference generators.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "device/ops.h"
#include "problems/slices.h"
#include "problems/torch_generator.h"

namespace kbench {

/// Matrices that one case makes: contiguous, row-major, on the device of `draws`.
struct Group {
  TorchGenerator& draws;
  float* a;  ///< [batch, n, n]; holds standard normals when the case asks for a base
  std::int64_t batch, n, cond;
  double slice_bytes = k_generator_slice_bytes;  ///< of temporaries that are made in slices

  Device& device() const { return draws.device(); }
  Ops& ops() const { return draws.device().ops(); }
  std::int64_t entries() const { return batch * n * n; }
};

/// One case of a problem. `make` turns group.a into the case's matrices.
struct MatrixCase {
  std::string_view name;
  bool uses_base;    ///< false: the base is drawn by the reference and thrown away
  float mix_weight;  ///< in a mixed batch; 0: not in the mix. Labels count the rows in the mix.
  void (*make)(const Group& group);
  /// Device bytes `make` needs beside the matrices; null: vectors only.
  double (*temporary_bytes)(std::int64_t batch, std::int64_t n);
  /// The values are planted (`plant`), dear to make again.
  bool planted = false;
  /// Nothing in the matrices allows fewer than the nominal operations.
  bool unstructured = false;
};

/// Fills group.a with the case `name` of `table`: the base (drawn or skipped), then the case's own
/// steps. `mixed`: base, labels, then each profile's matrices as one contiguous group in the order
/// of the table.
void make_matrices(std::span<const MatrixCase> table, std::string_view name, const Group& group);

/// Labels of a mixed batch with torch's fix-ups: at least one matrix of the first profile and, from
/// two matrices on, one of another.
std::vector<std::int64_t> mixed_labels(TorchGenerator& draws, std::span<const MatrixCase> table,
                                       std::int64_t batch);

/// The row of `table` that matrix b of a mixed batch was made by; from a fresh generator.
std::vector<const MatrixCase*> mixed_rows(TorchGenerator& draws, std::span<const MatrixCase> table,
                                          std::int64_t batch, std::int64_t n);

/// The row called `name`, nullptr when there is none.
const MatrixCase* find_case(std::span<const MatrixCase> table, std::string_view name);

/// Device bytes of the generator for one case of `table` or `mixed`, vectors included.
double generator_bytes(std::span<const MatrixCase> table, std::string_view name, std::int64_t batch,
                       std::int64_t n);

/// Values on the device, the same for every matrix (`count` = n) or one row a matrix (batch * n).
class DeviceVectors {
 public:
  DeviceVectors(Device& device, const std::vector<float>& values, std::int64_t n);
  Vectors get() const { return vectors_; }

 private:
  Buffer<float> buffer_;
  Vectors vectors_;
};

/// max(1, 3n / 4): columns of full rank in the rank-deficient cases.
std::int64_t full_rank(std::int64_t n);

/// The power of ten range that scales columns or rows: logspace(0, -exponent, n).
std::vector<float> decay(Ops& ops, std::int64_t exponent, std::int64_t n);

/// a_ij * 0 outside |i - j| <= max(2, min(32, n / 32)).
void keep_narrow_band(const Group& group);

/// a = S((Q diag(v)) Q^T) with Q from the QR of normals drawn into a, columns signed so that R has
/// a positive diagonal. v is [n] (the same for all) or [batch * n]. In slices of bounded memory.
void plant(const Group& group, const std::vector<float>& v);
double plant_bytes(std::int64_t batch, std::int64_t n);

}  // namespace kbench
