// How long kbench's own phases may take at the most. Knows sizes and slow machines; does not know
// what a phase does.
#include "worker/events.h"

namespace kbench {

double own_code_limit_s(DeviceKind device, const Case& spec, std::size_t inputs) {
  // Generators and checks take up to about 30 n^3 operations a matrix, over and over on each input;
  // the rates are those of a slow processor and of a GPU that does nothing well.
  constexpr double k_operations = 30, k_host_rate = 2e8, k_cuda_rate = 1e10;
  constexpr double k_touches = 20, k_bytes_per_s = 1e8;
  constexpr double k_host_base_s = 600, k_cuda_base_s = 120;
  const bool cuda = device == DeviceKind::cuda;
  const double n = static_cast<double>(spec.n);
  const double matrices = static_cast<double>(spec.batch) * static_cast<double>(inputs);
  return (cuda ? k_cuda_base_s : k_host_base_s) +
         matrices * n * n * n * k_operations / (cuda ? k_cuda_rate : k_host_rate) +
         matrices * n * n * sizeof(float) * k_touches / k_bytes_per_s;
}

}  // namespace kbench
