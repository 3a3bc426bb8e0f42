// The time below which no honest call lies on a device.
#pragma once

#include <string>
#include <string_view>

#include "core/message.h"
#include "device/device.h"
#include "problems/problem.h"

namespace kbench {

struct Floor {
  double ns = 0;
  std::string reason;  ///< what it comes from, and what could not be taken into account
};

/// Highest dense FP16 or BF16 tensor rate of any product of this compute capability, in operations
/// a second; 0 where it is not known.
double tensor_peak(std::string_view capability);

/// Of one custom_kernel call, the largest of
///   launch  half of one empty launch among many (other launches may overlap it)
///   bytes   half of input + output over the rate of a large copy (outputs may stay in the cache)
///   flops   nominal operations over the highest tensor rate, where a case has no structure
Floor time_floor(const DeviceInfo& device, const Speed& speed, const Problem& problem,
                 const Case& spec);

/// Throws Error(case_failed) when `mean_ns` lies below the floor.
void require_possible_time(double mean_ns, const Floor& floor);

}  // namespace kbench
