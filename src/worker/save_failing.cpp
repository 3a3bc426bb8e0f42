// Downloads the arrays of a failed call and writes them as .npy. Does not know why the case failed.
#include "worker/save_failing.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "core/npy.h"

namespace kbench {
namespace {

void transpose_in_place(std::vector<float>& matrices, std::int64_t n) {
  const std::size_t size = static_cast<std::size_t>(n);
  for (std::size_t first = 0; first < matrices.size(); first += size * size) {
    float* matrix = matrices.data() + first;
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = i + 1; j < size; ++j) {
        std::swap(matrix[i * size + j], matrix[j * size + i]);
      }
    }
  }
}

}  // namespace

std::string save_failing(Device& device, const Problem& problem, const Case& spec,
                         const std::string& folder, const std::string& stem, const float* input,
                         std::span<const float* const> outputs, Layout layout) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(ExitCode::case_failed, fmt::format("cannot make folder `{}` ({}); choose another",
                                                   folder, error.message()));
  }
  const std::string base = (std::filesystem::path(folder) / stem).string();
  const std::vector<std::int64_t> matrices = {spec.batch, spec.n, spec.n};
  const std::vector<std::int64_t> vectors = {spec.batch, spec.n};
  const std::int64_t matrix_count = spec.batch * spec.n * spec.n;
  write_npy(base + ".A.npy", matrices, to_host(device, input, matrix_count).data());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const OutputShape& shape = problem.outputs()[k];
    const bool is_matrix = shape.rank == 3;
    std::vector<float> values =
        to_host(device, outputs[k], is_matrix ? matrix_count : spec.batch * spec.n);
    if (is_matrix && layout == Layout::column_major) transpose_in_place(values, spec.n);
    write_npy(fmt::format("{}.{}.npy", base, shape.name), is_matrix ? matrices : vectors,
              values.data());
  }
  return base;
}

}  // namespace kbench
