// Judges a mean time by what the device can do at all. Knows sizes and rates; makes no device call
// and does not know how the time was taken.
#include "worker/floor.h"

#include <fmt/format.h>

#include <array>

#include "core/error.h"

namespace kbench {
namespace {

struct Peak {
  std::string_view capability;
  double flops;
};

// Of the largest product of each capability, without sparsity. Accuracy of FP32 takes several such
// operations for one, so the floor is far below what an honest kernel reaches.
constexpr std::array<Peak, 4> k_peaks{{
    {"8.0", 312e12},    // A100
    {"8.9", 370e12},    // L40S, RTX 6000 Ada
    {"9.0", 990e12},    // H100, H200
    {"10.0", 2500e12},  // B200, GB200
}};

std::string microseconds(double ns) { return fmt::format("{:.3g} us", ns * 1e-3); }

void raise(Floor& floor, double ns, std::string reason) {
  if (ns > floor.ns) floor = {ns, std::move(reason)};
}

}  // namespace

double tensor_peak(std::string_view capability) {
  for (const Peak& peak : k_peaks) {
    if (peak.capability == capability) return peak.flops;
  }
  return 0;
}

Floor time_floor(const DeviceInfo& device, const Speed& speed, const Problem& problem,
                 const Case& spec) {
  Floor floor;
  raise(floor, speed.launch_ns / 2, "half of an empty launch");
  if (speed.copy_bytes_per_s > 0) {
    const double bytes = problem.info().nominal_bytes(spec.batch, spec.n);
    raise(floor, 0.5e9 * bytes / speed.copy_bytes_per_s,
          fmt::format("half of {:.4g} MB of input and output at the {:.4g} GB/s of a copy",
                      bytes * 1e-6, speed.copy_bytes_per_s * 1e-9));
  }
  if (!problem.needs_nominal_flops(spec)) return floor;
  const double peak = tensor_peak(device.capability);
  if (peak == 0) {
    floor.reason += fmt::format("{}no tensor peak known for {}", floor.reason.empty() ? "" : "; ",
                                device.capability.empty() ? "the host" : device.capability);
    return floor;
  }
  const double flops = problem.info().nominal_flops(spec.batch, spec.n);
  raise(floor, 1e9 * flops / peak,
        fmt::format("{:.4g} nominal Gflop at the {:.4g} Tflop/s of the tensor units", flops * 1e-9,
                    peak * 1e-12));
  return floor;
}

void require_possible_time(double mean_ns, const Floor& floor) {
  if (mean_ns >= floor.ns) return;
  throw Error(ExitCode::case_failed,
              fmt::format("impossible time (mean {} below the floor {}: {}); do all the work of a "
                          "call inside the call",
                          microseconds(mean_ns), microseconds(floor.ns), floor.reason));
}

}  // namespace kbench
