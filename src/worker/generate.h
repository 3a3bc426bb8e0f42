// The generate job: inputs written as .npy and named by their bits.
#pragma once

#include "core/message.h"
#include "device/device.h"
#include "problems/problem.h"
#include "worker/events.h"

namespace kbench {

/// Builds the input of each seed of `job`, writes `<out>/<save_stem>.npy` (`<save_stem>-<j>.npy`, j
/// from 0, when there are several) and records path, SHA-256 of the FP32 data and milliseconds.
/// Throws Error or DeviceError; records of finished inputs stay in `reply`.
void run_generate(Device& device, const Problem& problem, const Job& job, const EventSink& sink,
                  Reply& reply);

}  // namespace kbench
