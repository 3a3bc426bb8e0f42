// Whose fault a device failure is while nothing but custom_kernel's work is on the device.
#pragma once

#include <fmt/format.h>

#include <string>

#include "device/device.h"
#include "worker/case_run.h"

namespace kbench {

constexpr const char* k_call_name = "custom_kernel";

/// Runs a stretch of calls: a device failure, or a change of the device's state, is the kernel's.
template <class Function>
void blame_kernel(CaseRun& run, Function function) {
  try {
    function();
  } catch (const DeviceError& error) {
    run.explain_failure(k_call_name);
    throw DeviceError(fmt::format("custom_kernel failed on the device ({})", error.what()),
                      error.sticky());
  }
  run.require_undisturbed(k_call_name);
}

}  // namespace kbench
