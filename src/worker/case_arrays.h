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

/// What a job holds a call beside the pristine input.
enum class Holds { inputs_only, calls, calls_and_snapshot };

/// Bytes that `count` calls of a case need (pristine inputs; guarded copies and outputs; a snapshot
/// of the outputs) and `extra` bytes, without the problem's scratch.
double needed_bytes(const Problem& problem, const Case& spec, std::int64_t count, Holds holds,
                    double extra = 0);

/// Throws Error(case_failed) when needed_bytes and the problem's scratch are more than the device
/// has free, naming both; allocates nothing.
void require_memory(Device& device, const Problem& problem, const Case& spec, std::int64_t count,
                    Holds holds, double extra = 0);

/// Pristine inputs, the arrays that the kernel sees, its outputs, a snapshot of these and its
/// workspace; freed together.
class CaseArrays {
 public:
  /// Allocates all but the workspace. `layout`: of matrix outputs. A free-form problem has no
  /// arrays but the workspace. `spec` outlives the object.
  CaseArrays(Device& device, const Problem& problem, const Case& spec, std::int32_t layout,
             std::int64_t count, Holds holds);
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
  float* input(std::int64_t j) const;  ///< of call j, as the kernel sees it
  /// Outputs of call j in the problem's order; from the snapshot: what they were when it was taken.
  std::span<const float* const> outputs(std::int64_t j) const;
  std::span<const float* const> snapshot(std::int64_t j) const;
  std::int64_t output_count(std::size_t output) const;  ///< elements

  /// Enqueues 0xFF (NaN) over input j, or over all outputs and the workspace.
  void poison_input(std::int64_t j);
  void poison_outputs();
  /// Enqueues one copy of all outputs at once, so that it is over as soon as can be.
  void take_snapshot();

  /// `wrote 4 bytes after output `H` (call 3)`, or empty. Waits.
  std::string breach() const;
  /// True when call j's input equals `reference`. Waits.
  bool input_equals(std::int64_t j, const float* reference) const;
  bool input_is_poison(std::int64_t j) const;
  /// ``output `H` (call 3)`` where outputs differ from the snapshot, or empty. Waits.
  std::string changed_since_snapshot() const;

  /// ``output `H` (call 3)`` where an output of call j is not all poison in the snapshot, or empty.
  /// Waits.
  std::string written_in_snapshot(std::int64_t j) const;

  std::int64_t total_bytes() const;

 private:
  struct Tensors {
    kbench_tensor input{};
    std::vector<kbench_tensor> outputs;
    std::vector<const float*> output_data, snapshot_data;
  };
  void allocate_guarded();
  void allocate_snapshot();
  bool has_arrays() const { return !problem_.info().free_form; }
  std::size_t output_index(std::size_t j, std::size_t output) const;

  Device& device_;
  const Problem& problem_;
  std::int64_t batch_, n_;
  std::int32_t layout_;
  std::vector<Buffer<float>> pristine_;
  std::vector<float*> pristine_data_;
  GuardedBuffers guarded_;         // all inputs, then all outputs call by call
  Buffer<std::uint8_t> snapshot_;  // from the first output to the last, guards included
  GuardedBuffers workspace_;
  Tensors shapes_;
  std::vector<Tensors> tensors_;
  std::vector<kbench_parameter> parameters_;  // of a problem without arrays; names are the case's
  std::vector<kbench_call> calls_;
};

}  // namespace kbench
