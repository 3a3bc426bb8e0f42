// Everything a case holds on the device beside what the problem and the plug-in allocate.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "kbench_kernel.h"
#include "problems/problem.h"
#include "worker/guarded_buffer.h"

namespace kbench {

/// Bytes that `count` calls of a case need: pristine inputs and guarded copies and outputs, beside
/// `scratch` bytes of the problem. Throws Error(case_failed) when that is more than the device has
/// free, naming both; allocates nothing. `with_outputs` false: the pristine inputs alone.
void require_memory(Device& device, const Problem& problem, const Case& spec, std::int64_t count,
                    bool with_outputs);

/// Pristine inputs, the copies that the kernel sees, its outputs and its workspace; freed together.
class CaseArrays {
 public:
  /// Allocates all but the workspace. `layout`: of matrix outputs.
  CaseArrays(Device& device, const Problem& problem, const Case& spec, std::int32_t layout,
             std::int64_t count);
  CaseArrays(const CaseArrays&) = delete;
  CaseArrays& operator=(const CaseArrays&) = delete;

  /// Allocates the workspace and completes the calls; before the first use of `calls`.
  /// Throws Error(case_failed) when it cannot fit.
  void complete(std::int64_t workspace_bytes, char* error, std::uint32_t error_size);
  /// The shapes of one call: no data, no workspace.
  kbench_call shapes(char* error, std::uint32_t error_size);

  std::int64_t count() const { return static_cast<std::int64_t>(pristine_.size()); }
  std::span<float* const> pristine() const { return pristine_data_; }
  std::span<const kbench_call> calls() const { return calls_; }
  /// Outputs of call j in the problem's order.
  std::span<const float* const> outputs(std::int64_t j) const;
  std::int64_t output_count(std::size_t output) const;  ///< elements

  /// Enqueues: pristine inputs over the copies, 0xFF (NaN) over all outputs, and over the
  /// workspace.
  void restore_inputs();
  void poison_outputs();

  /// `wrote 4 bytes after output `H` (call 3)`, or empty. Waits.
  std::string breach() const;
  /// True when call j's input still equals the pristine one. Waits.
  bool input_unchanged(std::int64_t j) const;

  std::int64_t total_bytes() const;

 private:
  struct Tensors {
    kbench_tensor input{};
    std::vector<kbench_tensor> outputs;
    std::vector<const float*> output_data;
  };
  void allocate_guarded();

  Device& device_;
  const Problem& problem_;
  std::int64_t batch_, n_;
  std::int32_t layout_;
  std::vector<Buffer<float>> pristine_;
  std::vector<float*> pristine_data_;
  GuardedBuffers guarded_;
  GuardedBuffers workspace_;
  Tensors shapes_;
  std::vector<Tensors> tensors_;
  std::vector<kbench_call> calls_;
};

}  // namespace kbench
