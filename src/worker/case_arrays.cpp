// Allocates, restores, poisons and inspects the arrays of a case. Knows the shapes a problem states
// and the ABI's structs; never calls a kernel.
#include "worker/case_arrays.h"

#include <fmt/format.h>

#include "core/error.h"

namespace kbench {
namespace {

constexpr std::uint8_t k_poison = 0xFF;  // four of them are a NaN
constexpr double k_gib = 1024.0 * 1024.0 * 1024.0;

std::int64_t elements(int rank, std::int64_t batch, std::int64_t n) {
  return rank == 3 ? batch * n * n : batch * n;
}

kbench_tensor make_tensor(int rank, std::int64_t batch, std::int64_t n, std::int32_t layout) {
  kbench_tensor tensor{};
  tensor.size[0] = batch;
  tensor.size[1] = n;
  tensor.size[2] = rank == 3 ? n : 1;
  tensor.size[3] = 1;
  tensor.rank = rank;
  tensor.dtype = KBENCH_FLOAT32;
  tensor.layout = rank == 3 ? layout : std::int32_t{KBENCH_ROW_MAJOR};
  return tensor;
}

[[noreturn]] void refuse(double need, std::int64_t free, const std::string& why) {
  throw Error(ExitCode::case_failed,
              fmt::format("out of device memory before allocating ({} needs {:.2f} GiB, {:.2f} GiB "
                          "are free); lower batch or n",
                          why, need / k_gib, static_cast<double>(free) / k_gib));
}

}  // namespace

double needed_bytes(const Problem& problem, const Case& spec, std::int64_t count, Holds holds,
                    double extra) {
  // In double: a valid case line may ask for more bytes than 64 bits can add up.
  const double matrix_bytes = 4.0 * static_cast<double>(spec.batch) * static_cast<double>(spec.n) *
                              static_cast<double>(spec.n);
  const double vector_bytes = 4.0 * static_cast<double>(spec.batch) * static_cast<double>(spec.n);
  const double guards = 2.0 * k_guard_bytes + k_data_alignment;
  double per_call = matrix_bytes;
  if (holds != Holds::inputs_only) {
    per_call += matrix_bytes + guards;
    const double copies = holds == Holds::calls_and_snapshot ? 2 : 1;
    for (const OutputShape& shape : problem.outputs()) {
      per_call += copies * ((shape.rank == 3 ? matrix_bytes : vector_bytes) + guards);
    }
  }
  return per_call * static_cast<double>(count) + extra;
}

void require_memory(Device& device, const Problem& problem, const Case& spec, std::int64_t count,
                    Holds holds, double extra) {
  double need = needed_bytes(problem, spec, count, holds, extra);
  const std::int64_t free = device.free_bytes();
  const std::string why =
      fmt::format("{} call{} of batch {}, n {}", count, count == 1 ? "" : "s", spec.batch, spec.n);
  if (need > static_cast<double>(free)) refuse(need, free, why);
  need += static_cast<double>(problem.scratch_bytes(spec));
  if (need > static_cast<double>(free)) refuse(need, free, why + " with the checker's scratch");
}

CaseArrays::CaseArrays(Device& device, const Problem& problem, const Case& spec,
                       std::int32_t layout, std::int64_t count, Holds holds)
    : device_(device),
      problem_(problem),
      batch_(spec.batch),
      n_(spec.n),
      layout_(layout),
      guarded_(device),
      workspace_(device),
      tensors_(static_cast<std::size_t>(count)) {
  for (std::int64_t j = 0; j < count; ++j) {
    pristine_.emplace_back(device, elements(3, batch_, n_));
    pristine_data_.push_back(pristine_.back().get());
  }
  shapes_.input = make_tensor(3, batch_, n_, KBENCH_ROW_MAJOR);
  for (const OutputShape& shape : problem.outputs()) {
    shapes_.outputs.push_back(make_tensor(shape.rank, batch_, n_, layout_));
  }
  for (const Parameter& parameter : spec.parameters) {
    parameters_.push_back({parameter.name.c_str(), parameter.value});
  }
  if (!has_arrays()) return;
  allocate_guarded();
  if (holds == Holds::calls_and_snapshot) allocate_snapshot();
}

std::size_t CaseArrays::output_index(std::size_t j, std::size_t output) const {
  return tensors_.size() + j * shapes_.outputs.size() + output;
}

void CaseArrays::allocate_guarded() {
  for (std::size_t j = 0; j < tensors_.size(); ++j) {
    guarded_.add(fmt::format("input `A` (call {})", j + 1), pristine_[j].bytes());
  }
  for (std::size_t j = 0; j < tensors_.size(); ++j) {
    for (std::size_t k = 0; k < shapes_.outputs.size(); ++k) {
      guarded_.add(fmt::format("output `{}` (call {})", problem_.outputs()[k].name, j + 1),
                   output_count(k) * std::int64_t{sizeof(float)});
    }
  }
  guarded_.allocate();
  for (std::size_t j = 0; j < tensors_.size(); ++j) {
    Tensors& own = tensors_[j] = shapes_;
    own.input.data = guarded_.data(j);
    for (std::size_t k = 0; k < own.outputs.size(); ++k) {
      own.outputs[k].data = guarded_.data(output_index(j, k));
      own.output_data.push_back(static_cast<const float*>(own.outputs[k].data));
    }
  }
}

// Laid out as the outputs are, so that one copy takes them all and each keeps its alignment.
void CaseArrays::allocate_snapshot() {
  const std::size_t first = output_index(0, 0), last = guarded_.size() - 1;
  snapshot_ = Buffer<std::uint8_t>(device_, guarded_.span_bytes(first, last));
  const auto* begin = static_cast<const std::uint8_t*>(guarded_.data(first));
  for (Tensors& own : tensors_) {
    for (const float* data : own.output_data) {
      const std::ptrdiff_t offset = reinterpret_cast<const std::uint8_t*>(data) - begin;
      own.snapshot_data.push_back(reinterpret_cast<const float*>(snapshot_.get() + offset));
    }
  }
}

kbench_call CaseArrays::shapes(char* error, std::uint32_t error_size) {
  kbench_call call{};
  call.inputs = &shapes_.input;
  call.outputs = shapes_.outputs.data();
  call.input_count = has_arrays() ? 1 : 0;
  call.output_count = static_cast<std::int32_t>(shapes_.outputs.size());
  call.stream = device_.stream();
  call.error = error;
  call.error_size = error_size;
  call.parameters = parameters_.data();
  call.parameter_count = static_cast<std::int32_t>(parameters_.size());
  return call;
}

void CaseArrays::complete(std::int64_t workspace_bytes, char* error, std::uint32_t error_size) {
  if (workspace_bytes > 0) {
    const std::int64_t free = device_.free_bytes();
    if (workspace_bytes > free) {
      refuse(static_cast<double>(workspace_bytes), free, "the kernel's workspace");
    }
    // Whole words, so that the guard behind it begins at one.
    workspace_.add("the workspace", (workspace_bytes + 3) / 4 * 4);
    workspace_.allocate();
  }
  for (Tensors& own : tensors_) {
    kbench_call call = shapes(error, error_size);
    call.inputs = &own.input;
    call.outputs = own.outputs.data();
    call.workspace = workspace_bytes > 0 ? workspace_.data(0) : nullptr;
    call.workspace_bytes = static_cast<std::uint64_t>(workspace_bytes);
    calls_.push_back(call);
  }
}

std::span<const float* const> CaseArrays::outputs(std::int64_t j) const {
  return tensors_[static_cast<std::size_t>(j)].output_data;
}

std::int64_t CaseArrays::output_count(std::size_t output) const {
  return elements(shapes_.outputs[output].rank, batch_, n_);
}

std::span<const float* const> CaseArrays::snapshot(std::int64_t j) const {
  return tensors_[static_cast<std::size_t>(j)].snapshot_data;
}

float* CaseArrays::input(std::int64_t j) const {
  return static_cast<float*>(tensors_[static_cast<std::size_t>(j)].input.data);
}

void CaseArrays::poison_input(std::int64_t j) {
  device_.fill(input(j), k_poison, pristine_[static_cast<std::size_t>(j)].bytes());
}

void CaseArrays::poison_outputs() {
  for (const Tensors& own : tensors_) {
    for (std::size_t k = 0; k < own.outputs.size(); ++k) {
      device_.fill(own.outputs[k].data, k_poison, output_count(k) * std::int64_t{sizeof(float)});
    }
  }
  if (workspace_.size() > 0) device_.fill(workspace_.data(0), k_poison, workspace_.bytes(0));
}

void CaseArrays::take_snapshot() {
  if (!has_arrays()) return;
  device_.copy(snapshot_.get(), guarded_.data(output_index(0, 0)), snapshot_.bytes());
}

std::string CaseArrays::breach() const {
  const std::string found = guarded_.breach();
  return found.empty() ? workspace_.breach() : found;
}

bool CaseArrays::input_equals(std::int64_t j, const float* reference) const {
  return device_.equal(input(j), reference, pristine_[static_cast<std::size_t>(j)].bytes());
}

bool CaseArrays::input_is_poison(std::int64_t j) const {
  return device_.holds_only(input(j), k_poison, pristine_[static_cast<std::size_t>(j)].bytes());
}

std::string CaseArrays::changed_since_snapshot() const {
  if (!has_arrays()) return "";
  if (device_.equal(guarded_.data(output_index(0, 0)), snapshot_.get(), snapshot_.bytes())) {
    return "";
  }
  for (std::size_t j = 0; j < tensors_.size(); ++j) {
    for (std::size_t k = 0; k < shapes_.outputs.size(); ++k) {
      const Tensors& own = tensors_[j];
      if (device_.equal(own.output_data[k], own.snapshot_data[k],
                        output_count(k) * std::int64_t{sizeof(float)})) {
        continue;
      }
      return fmt::format("output `{}` (call {})", problem_.outputs()[k].name, j + 1);
    }
  }
  return "memory between the outputs";
}

std::string CaseArrays::written_in_snapshot(std::int64_t j) const {
  const Tensors& own = tensors_[static_cast<std::size_t>(j)];
  for (std::size_t k = 0; k < own.snapshot_data.size(); ++k) {
    const std::int64_t bytes = output_count(k) * std::int64_t{sizeof(float)};
    if (device_.holds_only(own.snapshot_data[k], k_poison, bytes)) continue;
    return fmt::format("output `{}` of call {}", problem_.outputs()[k].name, j + 1);
  }
  return "";
}

std::int64_t CaseArrays::total_bytes() const {
  std::int64_t total = guarded_.total_bytes() + snapshot_.bytes();
  for (const Buffer<float>& input : pristine_) total += input.bytes();
  return total + (workspace_.size() > 0 ? workspace_.total_bytes() : 0);
}

}  // namespace kbench
