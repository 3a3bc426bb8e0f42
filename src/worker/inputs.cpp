// Builds the inputs of a case on the device. Does not know kernels or what the inputs are used for.
#include "worker/inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

#include "core/error.h"
#include "core/npy.h"
#include "core/sha256.h"

namespace kbench {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// [n, n] counts as a batch of one.
void require_shape(const NpyHeader& header, const Case& spec) {
  const std::vector<std::int64_t> whole = {spec.batch, spec.n, spec.n};
  const bool alone = spec.batch == 1 && header.shape == std::vector<std::int64_t>{spec.n, spec.n};
  if (header.shape != whole && !alone) {
    throw Error(ExitCode::case_file,
                fmt::format("`{}` has shape [{}] (the case says batch {}, n {}); the file and the "
                            "case must agree",
                            spec.input_path, fmt::join(header.shape, ", "), spec.batch, spec.n));
  }
}

void read_input(Device& device, const Problem& problem, const Case& spec, float* array) {
  const NpyHeader header = read_npy_header(spec.input_path);
  require_shape(header, spec);
  const std::vector<float> values = read_npy(spec.input_path, header);
  device.upload(array, values.data(),
                static_cast<std::int64_t>(values.size()) * std::int64_t{sizeof(float)});
  problem.validate_input(device, spec, array);
}

}  // namespace

void build_inputs(Device& device, const Problem& problem, const Case& spec,
                  std::span<const std::int64_t> seeds, std::span<float* const> arrays,
                  const Progress& progress, std::vector<InputRecord>& records) {
  KBENCH_ASSERT(seeds.size() == arrays.size());
  const std::int64_t bytes = spec.batch * spec.n * spec.n * std::int64_t{sizeof(float)};
  for (std::size_t j = 0; j < seeds.size(); ++j) {
    progress.own_code("inputs", static_cast<std::int64_t>(j) + 1);
    device.synchronize();
    const Clock::time_point begin = Clock::now();
    if (spec.input_path.empty()) {
      problem.generate(device, spec, seeds[j], arrays[j]);
    } else if (j == 0) {
      read_input(device, problem, spec, arrays[j]);
    } else {
      device.copy(arrays[j], arrays[0], bytes);
    }
    device.synchronize();
    records.push_back(InputRecord{seeds[j], "", "", ms_since(begin)});
  }
}

void hash_inputs(Device& device, const Case& spec, std::span<float* const> arrays,
                 const Progress& progress, std::vector<InputRecord>& records) {
  KBENCH_ASSERT(records.size() == arrays.size());
  for (std::size_t j = 0; j < arrays.size(); ++j) {
    progress.own_code("hash", static_cast<std::int64_t>(j) + 1);
    const std::vector<float> values = to_host(device, arrays[j], spec.batch * spec.n * spec.n);
    records[j].sha256 = sha256_hex(values.data(), values.size() * sizeof(float));
  }
}

}  // namespace kbench
