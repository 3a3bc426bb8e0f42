// The inputs of a case: generated from seeds, or the user's own matrices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/message.h"
#include "device/device.h"
#include "problems/problem.h"
#include "worker/events.h"

namespace kbench {

/// Fills each of `arrays` ([batch, n, n], row-major, device memory), one per seed. With
/// Case::input_path all of them hold that file's matrices. Records the time of each, synchronised.
/// Throws Error(case_failed or case_file) when the file is wrong or the problem refuses it.
void build_inputs(Device& device, const Problem& problem, const Case& spec,
                  std::span<const std::int64_t> seeds, std::span<float* const> arrays,
                  const Progress& progress, std::vector<InputRecord>& records);

/// Reads each of the arrays back and puts its SHA-256 into its record.
void hash_inputs(Device& device, const Case& spec, std::span<float* const> arrays,
                 const Progress& progress, std::vector<InputRecord>& records);

}  // namespace kbench
