// The jobs that call a kernel: check, measure, profile.
#pragma once

#include "core/message.h"
#include "device/device.h"
#include "kbench_kernel.h"
#include "problems/problem.h"
#include "worker/events.h"

namespace kbench {

/// Runs `job` (not of kind generate) with a kernel whose descriptor has been checked. Everything
/// the case allocated is freed on return and on failure. Fills `reply` as far as it gets: samples,
/// figures, inputs, times. A paced job asks `turns` before each timed repeat, one that starts
/// together also `starts` when the repeat is prepared. Throws
/// Error(case_failed) for every failure of the kernel or of a gate and DeviceError for those of the
/// device.
void run_kernel_job(Device& device, const Problem& problem, const kbench_kernel& kernel,
                    const Job& job, const EventSink& sink, Reply& reply,
                    const TurnSource& turns = {}, const StartSource& starts = {});

}  // namespace kbench
