// NumPy .npy files (format 1.0 and 2.0), little-endian float32 only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kbench {

struct NpyHeader {
  std::vector<std::int64_t> shape;
  bool fortran_order = false;
  std::int64_t data_offset = 0;  ///< bytes from the start of the file
};

/// Reads and validates the header, and that the file is exactly as long as it says.
/// Throws Error(case_file) naming the path and what is wrong (dtype, rank, truncation).
NpyHeader read_npy_header(const std::string& path);

/// Reads the array in C order (a Fortran-order file is an error).
std::vector<float> read_npy(const std::string& path, const NpyHeader& header);

/// Writes a C-order float32 array. Throws Error(case_failed) when the file cannot be written.
void write_npy(const std::string& path, const std::vector<std::int64_t>& shape, const float* data);

}  // namespace kbench
